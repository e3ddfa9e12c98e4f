import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { FleetDirectory } from "../../../actors/fleet/directory.js";
import { type CallEnding, FleetCalls } from "../../../actors/fleet/fleet-calls.js";
import { NodePlaces } from "../../../actors/fleet/node-places.js";
import { RemoteSynthesizer } from "../../../actors/fleet/remote-synthesizer.js";
import { toSpeakCall, urgencyOf } from "../../../actors/fleet/speak-call.js";
import { heartbeatsOf } from "../../../actors/fleet/subjects.js";
import { CallHost } from "../../../actors/node/call-host.js";
import { speakingWith } from "../../../actors/node/synthesis-host.js";
import { concatenatePcm } from "../../../core/domain/audio/pcm.js";
import { ServiceError } from "../../../core/domain/errors.js";
import { dueAtMs } from "../../../core/domain/synthesis/urgency.js";
import type { Bus } from "../../../core/ports/bus.js";
import { systemClock } from "../../../core/ports/clock.js";
import type { SpeakOptions, SynthesisJob, Synthesizer } from "../../../core/ports/synthesizer.js";
import { peerName } from "../../../src/bus/open-bus.js";
import { openHub } from "../../support/buses.js";
import { eventually } from "../../support/eventually.js";
import { LossyBus } from "../../support/lossy-bus.js";
import * as fc from "../../support/properties.js";
import { SILENT } from "../../support/silent-log.js";

const NEVER = new AbortController().signal;
const JOB: SynthesisJob = { modelId: "m", voice: "v", spokenText: "сәлем", speed: 1, nfe: 8, seed: 3 };
const OF_FLEET = { cell: "c", zone: "z", model: "m", manifest: "h" };
/** The last part is larger than a message. */
const PARTS = [1_000, 3, 17, 140_000].map((length, at) =>
  Int16Array.from({ length }, (_, n) => n * (at + 1)),
);
const BOUNDS = Int32Array.of(0, 5, 70_000, 141_020);

/** Produces the same piece each time, one part per turn of the event loop. */
class FixedSynthesizer implements Synthesizer {
  readonly jobs: (SpeakOptions & { readonly job: SynthesisJob })[] = [];
  /** Called before each part, with its index. */
  beforePart: (at: number) => Promise<void> = async () => {};

  async speak(job: SynthesisJob, signal: AbortSignal, options: SpeakOptions = {}) {
    this.jobs.push({ ...options, job });
    options.onBounds?.(BOUNDS);
    for (const [at, part] of PARTS.entries()) {
      await turn();
      await this.beforePart(at);
      if (signal.aborted) throw new ServiceError("CANCELLED", "synthesis was cancelled");
      options.onPcm?.(part);
    }
    return { pcm: concatenatePcm(PARTS), sampleRateHz: 24_000, characterBounds: BOUNDS };
  }
}

async function fleet({ waitMs = 60_000, capacity = 4 } = {}) {
  const buses = openHub();
  const hosts = new Set<CallHost>();
  const startNode = async (synthesizer: Synthesizer, through: (bus: Bus) => Bus = (bus) => bus) => {
    const host = new CallHost({
      ...OF_FLEET,
      ...{ bus: through(await buses.connect()), node: peerName(), kind: "synthesis", capacity },
      ...{ clock: systemClock, log: SILENT, perform: speakingWith(synthesizer, systemClock) },
    });
    hosts.add(host);
    await host.start();
    return host;
  };
  const bus = await buses.connect();
  const directory = new FleetDirectory({
    ...{ bus, heartbeats: heartbeatsOf("synthesis"), lostMs: 20_000, clock: systemClock, log: SILENT },
  });
  const lost: CallEnding[] = [];
  const calls = new FleetCalls({
    ...{ bus, front: peerName() },
    observer: { began: () => {}, ended: () => {}, lost: (_, ending) => void lost.push(ending) },
  });
  const places = new NodePlaces({ ...OF_FLEET, calls, directory, kind: "synthesis", waitMs });
  const synthesizer = new RemoteSynthesizer({ places, clock: systemClock });
  return {
    ...{ startNode, synthesizer, lost },
    end: async () => {
      await synthesizer.stop();
      calls.close();
      directory.close();
      for (const host of hosts) host.stop();
    },
  };
}

/** Synthesizes a piece, and asserts that all of it arrives once and in order. */
async function requireWhole(synthesizer: Synthesizer, options: SpeakOptions = {}): Promise<void> {
  const heard: Int16Array[] = [];
  const bounds: Int32Array[] = [];
  const piece = await synthesizer.speak(JOB, NEVER, {
    ...options,
    onPcm: (pcm) => {
      heard.push(pcm);
      options.onPcm?.(pcm);
    },
    onBounds: (told) => void bounds.push(told),
  });
  assert.deepEqual(concatenatePcm(heard), concatenatePcm(PARTS), "every sample arrived once");
  assert.deepEqual(piece, { pcm: concatenatePcm(PARTS), sampleRateHz: 24_000, characterBounds: BOUNDS });
  assert.deepEqual(bounds, [BOUNDS]);
}

test("a piece arrives unchanged with its job and urgency", async () => {
  const { startNode, synthesizer, end } = await fleet();
  const made = new FixedSynthesizer();
  await startNode(made);
  await synthesizer.start();
  await requireWhole(synthesizer, { urgency: { kind: "first" } });
  const [only, ...more] = made.jobs;
  assert.deepEqual([only!.job, only!.urgency, more], [JOB, { kind: "first" }, []]);
  await end();
});

test("when a node ends at any part, another continues at the next sample", async () => {
  for (const [at] of PARTS.entries()) {
    const { startNode, synthesizer, lost, end } = await fleet();
    const made = new FixedSynthesizer();
    const first = await startNode(made);
    made.beforePart = async (part) => {
      if (part !== at || made.jobs.length > 1) return;
      first.stop();
      await startNode(made);
    };
    await requireWhole(synthesizer);
    assert.deepEqual([made.jobs.length, lost], [2, ["gone"]]);
    await end();
  }
});

test("the loss of any message of a node leaves the piece complete", async () => {
  for (let nth = 0; nth < 8; nth++) {
    const { startNode, synthesizer, end } = await fleet();
    const lossy = (bus: Bus) => new LossyBus(bus, /\.call\./, (at) => (at === nth ? "drop" : "send"));
    await startNode(new FixedSynthesizer(), lossy);
    await requireWhole(synthesizer);
    await end();
  }
});

test("full nodes are skipped; work that finds no node is rejected after its wait", async () => {
  const { startNode, synthesizer, end } = await fleet({ capacity: 1, waitMs: 3_000 });
  const made = new FixedSynthesizer();
  let go = () => {};
  made.beforePart = () =>
    new Promise((resolve) => {
      go = resolve;
    });
  await startNode(made);
  const busy = synthesizer.speak(JOB, NEVER);
  busy.catch(() => undefined);
  await eventually("the node works", () => made.jobs.length === 1);
  await assert.rejects(synthesizer.speak(JOB, NEVER), { code: "ENGINE_BUSY" });
  made.beforePart = async () => {};
  await startNode(made);
  await requireWhole(synthesizer);
  go();
  await busy;
  await end();
});

test("a piece without nodes is rejected after its wait; a partly delivered one is reported as lost", async () => {
  const { startNode, synthesizer, end } = await fleet({ waitMs: 2_000 });
  await assert.rejects(synthesizer.speak(JOB, NEVER), { code: "ENGINE_BUSY" });
  const made = new FixedSynthesizer();
  const only = await startNode(made);
  made.beforePart = async (at) => {
    if (at === 2) only.stop();
  };
  await assert.rejects(synthesizer.speak(JOB, NEVER), { code: "WORKER_LOST" });
  await end();
});

test("a piece that has lost three nodes is treated as the cause", async () => {
  const { startNode, synthesizer, lost, end } = await fleet();
  const made = new FixedSynthesizer();
  const nodes: CallHost[] = [];
  made.beforePart = async () => nodes.splice(0).forEach((node) => void node.stop());
  const startAnother = async () => void nodes.push(await startNode(made));
  await startAnother();
  const refused = assert.rejects(synthesizer.speak(JOB, NEVER), { code: "WORKER_LOST" });
  for (const attempt of [2, 3]) {
    await eventually("the node is lost", () => lost.length === attempt - 1);
    await startAnother();
  }
  await refused;
  assert.equal(made.jobs.length, 3);
  await end();
});

test("cancelling ends a piece with or without a node; stopping ends all pieces", async () => {
  const { startNode, synthesizer, end } = await fleet();
  const controller = new AbortController();
  const waiting = synthesizer.speak(JOB, controller.signal);
  controller.abort();
  await assert.rejects(waiting, { code: "CANCELLED" });
  const made = new FixedSynthesizer();
  made.beforePart = () => new Promise(() => {});
  const host = await startNode(made);
  const again = new AbortController();
  const running = synthesizer.speak(JOB, again.signal);
  await eventually("the node works", () => made.jobs.length === 1);
  again.abort();
  await assert.rejects(running, { code: "CANCELLED" });
  await eventually("the node does not", () => host.callCount === 0);
  const stopped = synthesizer.speak(JOB, NEVER);
  await eventually("the node works again", () => made.jobs.length === 2);
  await synthesizer.stop();
  await assert.rejects(stopped, { code: "SHUTTING_DOWN" });
  await assert.rejects(synthesizer.speak(JOB, NEVER), { code: "SHUTTING_DOWN" });
  await end();
});

test("a piece has the same due time on its node as on its front, despite different clocks", () => {
  const anyUrgency = fc.oneof(
    fc.constant({ kind: "first" } as const),
    fc.constant({ kind: "whole" } as const),
    fc.record({ kind: fc.constant("heard" as const), runsDryAtMs: fc.integer({ min: 0, max: 1e6 }) }),
  );
  const ms = fc.integer({ min: 0, max: 1e6 });
  fc.assert(
    fc.property(
      anyUrgency,
      ms,
      ms,
      fc.integer({ min: -1e9, max: 1e9 }),
      (urgency, askedAtMs, waitedMs, apartMs) => {
        const nowMs = askedAtMs + waitedMs;
        const call = toSpeakCall({ job: JOB, urgency, askedAtMs, skipSamples: 0 }, nowMs);
        const nodeNowMs = nowMs + apartMs;
        const dueThere = dueAtMs(urgencyOf(call, nodeNowMs), nodeNowMs - call.askedAgoMs, 50);
        assert.equal(dueThere - apartMs, dueAtMs(urgency, askedAtMs, 50));
      },
    ),
  );
});
