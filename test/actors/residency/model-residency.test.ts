import assert from "node:assert/strict";
import { test } from "node:test";
import {
  decideResidency,
  type ResidencyEffect,
  type ResidencyMessage,
  type ResidencyState,
} from "../../../actors/residency/model-residency.js";
import { ServiceError } from "../../../core/domain/errors.js";
import * as fc from "../../support/properties.js";

const FAILURE = new ServiceError("ENGINE_BUSY", "no model");

/** The environment of the state machine: leases, their holders, and the machine's running work. */
class World {
  state: ResidencyState = { phase: "cold" };
  isLoading = false;
  isUnloading = false;
  isAwaitingIdle = false;
  readonly waiting = new Set<number>();
  readonly granted = new Set<number>();
  readonly refused = new Set<number>();
  asked = 0;

  tell(message: ResidencyMessage): void {
    const { state, effects } = decideResidency(this.state, message);
    this.state = state;
    for (const effect of effects) this.#perform(effect);
    assert.ok(!(this.isLoading && this.isUnloading), "workers start and end at the same time");
    assert.equal(this.asked, this.waiting.size + this.granted.size + this.refused.size + this.left);
  }

  left = 0;

  #perform(effect: ResidencyEffect): void {
    switch (effect.type) {
      case "load":
        assert.ok(!this.isLoading && !this.isUnloading, "a second load");
        this.isLoading = true;
        return;
      case "unload":
        assert.ok(!this.isUnloading, "a second release");
        assert.ok(this.granted.size === 0 || this.state.phase === "stopped", "released while leased");
        assert.ok(!this.isAwaitingIdle, "the idle time goes on without workers");
        this.isLoading = false;
        this.isUnloading = true;
        return;
      case "grant":
        assert.equal(this.state.phase, "warm");
        assert.ok(this.waiting.delete(effect.lease), "granted to a lease that does not wait");
        this.granted.add(effect.lease);
        return;
      case "refuse":
        assert.ok(this.waiting.delete(effect.lease), "rejected a lease that does not wait");
        this.refused.add(effect.lease);
        return;
      case "await-idle":
        assert.ok(!this.isAwaitingIdle && this.granted.size === 0);
        this.isAwaitingIdle = true;
        return;
      case "cancel-idle":
        this.isAwaitingIdle = false;
    }
  }
}

type Step =
  | "acquire"
  | "leave waiting"
  | "leave granted"
  | "loaded"
  | "failed"
  | "idle"
  | "late idle"
  | "released"
  | "stop";

/** Carries out a step if possible. The machine only gets events that can really have happened. */
function take(world: World, step: Step, choice: number): void {
  const pick = (leases: ReadonlySet<number>) => [...leases][choice % Math.max(1, leases.size)];
  switch (step) {
    case "acquire": {
      const lease = world.asked++;
      world.waiting.add(lease);
      world.tell({ type: "acquire", lease });
      return;
    }
    case "leave waiting":
    case "leave granted": {
      const leases = step === "leave waiting" ? world.waiting : world.granted;
      const lease = pick(leases);
      if (lease === undefined) return;
      leases.delete(lease);
      world.left++;
      world.tell({ type: "leave", lease });
      return;
    }
    case "loaded":
    case "failed":
      if (!world.isLoading) return;
      world.isLoading = false;
      world.tell(step === "loaded" ? { type: "loaded" } : { type: "failed", error: FAILURE });
      return;
    case "idle":
      if (!world.isAwaitingIdle) return;
      world.isAwaitingIdle = false;
      world.tell({ type: "idle" });
      return;
    case "late idle":
      // The timer had expired before it was cancelled.
      if (world.isAwaitingIdle) return;
      world.tell({ type: "idle" });
      return;
    case "released":
      if (!world.isUnloading) return;
      world.isUnloading = false;
      world.tell({ type: "released" });
      return;
    case "stop":
      world.isAwaitingIdle = false;
      world.tell({ type: "stop" });
  }
}

const anyStep = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Step>("acquire") },
  { weight: 4, arbitrary: fc.constantFrom<Step>("leave waiting", "leave granted") },
  { weight: 6, arbitrary: fc.constantFrom<Step>("loaded", "idle", "released") },
  { weight: 2, arbitrary: fc.constantFrom<Step>("failed", "late idle") },
);
const anySteps = fc.array(fc.tuple(anyStep, fc.nat(20)), { maxLength: 60 });

test("never loads twice or releases under a lease, and settles every lease", () => {
  fc.assert(
    fc.property(anySteps, fc.boolean(), (steps, isStopped) => {
      const world = new World();
      for (const [step, choice] of steps) take(world, step, choice);
      if (isStopped) take(world, "stop", 0);
      // All running work ends, after which no lease is waiting.
      for (let round = 0; round < 3; round++) {
        take(world, "released", 0);
        take(world, "loaded", 0);
      }
      assert.equal(world.waiting.size, 0, `${world.waiting.size} leases wait for ever`);
      if (isStopped) return;
      for (const _lease of [...world.granted]) take(world, "leave granted", 0);
      take(world, "idle", 0);
      take(world, "released", 0);
      assert.deepEqual([world.state, world.isAwaitingIdle], [{ phase: "cold" }, false]);
    }),
    { numRuns: 2_000 },
  );
});

test("a lease before the idle timeout is handled keeps the workers", () => {
  const world = new World();
  for (const step of ["acquire", "loaded", "leave granted", "acquire", "late idle"] as const)
    take(world, step, 0);
  assert.deepEqual([world.state, world.granted.size], [{ phase: "warm", leaseCount: 1 }, 1]);
});

test("a lease after the idle timeout waits for the next workers", () => {
  const world = new World();
  for (const step of ["acquire", "loaded", "leave granted", "idle", "acquire"] as const) take(world, step, 0);
  assert.deepEqual([world.isUnloading, world.isLoading, world.waiting.size], [true, false, 1]);
  take(world, "released", 0);
  assert.deepEqual([world.isUnloading, world.isLoading, world.waiting.size], [false, true, 1]);
  take(world, "loaded", 0);
  assert.equal(world.granted.size, 1);
});

test("rejects leases beyond the limit of waiting ones", () => {
  const world = new World();
  for (let index = 0; index < 4_097; index++) take(world, "acquire", 0);
  assert.deepEqual([world.waiting.size, [...world.refused]], [4_096, [4_096]]);
});
