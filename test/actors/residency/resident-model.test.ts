import assert from "node:assert/strict";
import { test } from "node:test";
import { type Lease, MODEL_WAIT_MS, ResidentModel } from "../../../actors/residency/resident-model.js";
import { ServiceError } from "../../../core/domain/errors.js";
import { systemClock } from "../../../core/ports/clock.js";
import { settled } from "../../support/deferred.js";
import { type FakeEngine, FakeEngines } from "../../support/fake-engine.js";
import { ManualTimers } from "../../support/manual-timers.js";
import * as fc from "../../support/properties.js";
import { SILENT } from "../../support/silent-log.js";

const IDLE_MS = 1_000;

function resident(engines: FakeEngines, idleMs = IDLE_MS): ResidentModel<FakeEngine> {
  return new ResidentModel({
    name: "test",
    makeEngine: engines.make,
    idleMs,
    observer: engines.observer,
    clock: systemClock,
    log: SILENT,
  });
}

function refusalOf(lease: Lease<FakeEngine>): Promise<ServiceError> {
  return lease.granted.then(
    () => assert.fail("the lease was granted"),
    (error: ServiceError) => error,
  );
}

test("twenty simultaneous leases share one load", async () => {
  const engines = new FakeEngines();
  const model = resident(engines);
  const asked = Array.from({ length: 20 }, () => model.acquire(new AbortController().signal));
  assert.equal(engines.made.length, 1);
  engines.starting?.hasStarted();
  const leases = await Promise.all(asked);
  assert.deepEqual(new Set(leases.map((lease) => lease.engine)), new Set(engines.made));
  assert.deepEqual([engines.made.length, engines.faults, engines.observed], [1, [], ["loaded"]]);
});

test("a failed load rejects all waiting leases; the next lease tries again", async () => {
  const engines = new FakeEngines();
  const model = resident(engines);
  const waiting = Array.from({ length: 20 }, () => model.take());
  engines.starting?.hasFailed(new Error("disk is gone"));
  const refusals = await Promise.all(waiting.map(refusalOf));
  assert.deepEqual(new Set(refusals.map(({ code }) => code)), new Set(["ENGINE_BUSY"]));
  assert.match(String(refusals[0]?.cause), /disk is gone/);
  // What remains of the failed start ends before the next start.
  const next = model.take();
  assert.deepEqual([engines.made.length, engines.made[0]?.phase], [1, "stopping"]);
  engines.stopping?.hasStopped();
  await settled();
  engines.starting?.hasStarted();
  await next.granted;
  assert.equal(next.engine, engines.made[1]);
  for (const lease of waiting) lease.release();
  assert.deepEqual([model.phase, engines.faults], ["warm", []]);
});

test("the workers end after the idle time, unless a lease is open", async (t) => {
  const timers = ManualTimers.install(t);
  const engines = new FakeEngines();
  const model = resident(engines);
  const first = model.take();
  engines.starting?.hasStarted();
  await first.granted;
  timers.advance(100 * IDLE_MS);
  assert.equal(model.phase, "warm");
  first.release();
  first.release();
  timers.advance(IDLE_MS - 1);
  const second = model.take();
  timers.advance(100 * IDLE_MS);
  assert.equal(model.phase, "warm");
  second.release();
  timers.advance(IDLE_MS);
  assert.equal(model.phase, "releasing");
  engines.stopping?.hasStopped();
  await settled();
  assert.deepEqual([model.phase, engines.running.length, timers.pendingCount], ["cold", 0, 0]);
  assert.deepEqual([engines.faults, engines.observed], [[], ["loaded", "released"]]);
});

test("with an idle time of 0 the workers stay", async (t) => {
  const timers = ManualTimers.install(t);
  const engines = new FakeEngines();
  const model = resident(engines, 0);
  const lease = model.take();
  engines.starting?.hasStarted();
  await lease.granted;
  lease.release();
  assert.equal(timers.pendingCount, 0);
  assert.equal(model.phase, "warm");
});

test("a lease released while waiting does not stop the load for the next one", async (t) => {
  const timers = ManualTimers.install(t);
  const engines = new FakeEngines();
  const model = resident(engines);
  const leaving = new AbortController();
  const asked = model.acquire(leaving.signal);
  leaving.abort();
  await assert.rejects(asked, { code: "CANCELLED" });
  assert.equal(timers.pendingCount, 0);
  await assert.rejects(model.acquire(leaving.signal), { code: "CANCELLED" });
  engines.starting?.hasStarted();
  await settled();
  assert.equal(model.phase, "warm");
  timers.advance(IDLE_MS);
  assert.equal(model.phase, "releasing");
});

test("bounds the wait but not the load", async (t) => {
  const timers = ManualTimers.install(t);
  const engines = new FakeEngines();
  const model = resident(engines);
  const late = model.take();
  timers.advance(MODEL_WAIT_MS - 1);
  const patient = model.take();
  timers.advance(1);
  const refusal = await refusalOf(late);
  assert.deepEqual([refusal.code, model.phase], ["ENGINE_BUSY", "loading"]);
  engines.starting?.hasStarted();
  await patient.granted;
  assert.deepEqual([timers.pendingCount, engines.made.length], [0, 1]);
});

test("an engine that cannot be created counts as a failed load", (t) => {
  ManualTimers.install(t);
  const engines = new FakeEngines();
  let isBroken = true;
  const model = new ResidentModel({
    name: "test",
    makeEngine: () => {
      if (isBroken) throw new Error("no threads left");
      return engines.make();
    },
    idleMs: IDLE_MS,
    observer: engines.observer,
    clock: systemClock,
    log: SILENT,
  });
  assert.throws(() => model.take(), { code: "ENGINE_BUSY" });
  isBroken = false;
  return settled().then(() => {
    model.take();
    assert.equal(engines.starting, engines.made[0]);
  });
});

test("a preload waits without a limit and throws the engine's error", async (t) => {
  const timers = ManualTimers.install(t);
  const engines = new FakeEngines();
  const model = resident(engines);
  const loading = model.preload();
  timers.advance(10 * MODEL_WAIT_MS);
  const cause = new ServiceError("MODEL_BROKEN", "step.onnx has another hash");
  engines.starting?.hasFailed(cause);
  await assert.rejects(loading, cause);
});

for (const phase of ["cold", "loading", "warm", "releasing"] as const) {
  test(`a stop while ${phase} ends the workers and rejects waiting and new leases`, async (t) => {
    const timers = ManualTimers.install(t);
    const engines = new FakeEngines();
    const model = resident(engines, 1);
    const first = phase === "cold" ? null : model.take();
    if (phase === "warm" || phase === "releasing") engines.starting?.hasStarted();
    await settled();
    if (phase === "releasing") {
      first?.release();
      timers.advance(1);
    }
    assert.equal(model.phase, phase);
    const waiting = phase === "loading" || phase === "releasing" ? [model.take()] : [];
    const stopping = model.stop();
    const again = model.stop();
    for (const lease of waiting) assert.equal((await refusalOf(lease)).code, "SHUTTING_DOWN");
    assert.throws(() => model.take(), { code: "SHUTTING_DOWN" });
    engines.stopping?.hasStopped();
    await Promise.all([stopping, again]);
    assert.deepEqual([engines.running.length, engines.faults], [0, []]);
  });
}

type Step = "take" | "give back" | "start ends" | "start fails" | "stop ends" | "time passes" | "turn";

test("a release that races with requests loses none of them", async (t) => {
  const timers = ManualTimers.install(t);
  const anyStep = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom<Step>("take", "give back") },
    { weight: 4, arbitrary: fc.constantFrom<Step>("start ends", "stop ends", "time passes") },
    { weight: 1, arbitrary: fc.constantFrom<Step>("start fails", "turn") },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(anyStep, fc.nat(10)), { maxLength: 40 }), async (steps) => {
      const engines = new FakeEngines();
      const model = resident(engines, 1);
      const waiting = new Set<Lease<FakeEngine>>();
      const held = new Set<Lease<FakeEngine>>();
      const outcomes: Promise<void>[] = [];
      const take = () => {
        const lease = model.take();
        waiting.add(lease);
        const outcome = lease.granted.then(
          () => {
            if (!waiting.delete(lease)) return;
            // Granted leases. The engine must run until they are released.
            if (lease.engine.phase !== "started")
              engines.faults.push(`granted an engine that is ${lease.engine.phase}`);
            lease.engine.useCount++;
            held.add(lease);
          },
          () => void waiting.delete(lease),
        );
        outcomes.push(outcome);
      };
      const giveBack = (lease: Lease<FakeEngine> | undefined) => {
        if (lease === undefined) return;
        if (held.delete(lease)) lease.engine.useCount--;
        waiting.delete(lease);
        lease.release();
      };
      for (const [step, choice] of steps) {
        const all = [...held, ...waiting];
        if (step === "take") take();
        else if (step === "give back") giveBack(all[choice % Math.max(1, all.length)]);
        else if (step === "start ends") engines.starting?.hasStarted();
        else if (step === "start fails") engines.starting?.hasFailed(new Error("no"));
        else if (step === "stop ends") engines.stopping?.hasStopped();
        else if (step === "time passes") timers.advance(2);
        else await Promise.resolve();
      }
      // Let every pending start and stop succeed, after which no lease is waiting.
      for (let round = 0; round < 4; round++) {
        engines.stopping?.hasStopped();
        await settled();
        engines.starting?.hasStarted();
        await settled();
      }
      await Promise.all(outcomes);
      assert.deepEqual(engines.faults, []);
      assert.equal(waiting.size, 0);
      for (const lease of [...held]) giveBack(lease);
      timers.advance(3);
      engines.stopping?.hasStopped();
      await settled();
      assert.deepEqual([engines.running.length, model.phase], [0, "cold"]);
    }),
    { numRuns: 200 },
  );
});
