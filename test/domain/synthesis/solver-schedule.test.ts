import assert from "node:assert/strict";
import { test } from "node:test";
import {
  nextRun,
  type PieceInFlight,
  type PieceStage,
  paddedPatches,
} from "../../../core/domain/synthesis/solver-schedule.js";
import { chunkDueAtMs, dueAtMs, type Urgency } from "../../../core/domain/synthesis/urgency.js";
import * as fc from "../../support/properties.js";

const WINDOW = { start: 0, end: 54, contextStart: 0, contextEnd: 64 };
const STAGE: fc.Arbitrary<PieceStage> = fc.oneof(
  fc.constant({ type: "begin" } as const),
  fc.record({
    type: fc.constant("step" as const),
    patches: fc.integer({ min: 1, max: 1_200 }),
    stepsDone: fc.integer({ min: 0, max: 15 }),
    steps: fc.constant(16),
  }),
  fc.record({
    type: fc.constant("vocode" as const),
    window: fc.constantFrom(WINDOW, { ...WINDOW, contextEnd: 128 }),
  }),
);
const PIECES = fc.uniqueArray(
  fc.record({ id: fc.nat(), dueAtMs: fc.integer(), isFirstChunk: fc.boolean(), stage: STAGE }),
  { selector: ({ id }) => id, maxLength: 40 },
);
const ROWS = fc.integer({ min: 1, max: 8 });

function step(id: number, due: number, patches: number): PieceInFlight {
  const stage = { type: "step", patches, stepsDone: 0, steps: 16 } as const;
  return { id, dueAtMs: due, isFirstChunk: false, stage };
}

/** A piece whose listener is waiting for its first chunk. */
function first(id: number, stepsDone: number | null): PieceInFlight {
  const stage = { type: "step", patches: 32, stepsDone: stepsDone ?? 0, steps: 16 } as const;
  return { id, dueAtMs: id, isFirstChunk: true, stage: stepsDone === null ? { type: "begin" } : stage };
}

test("a run serves the piece that is due first, and fills up with others of its stage", () => {
  fc.assert(
    fc.property(PIECES, ROWS, (pieces, rows) => {
      const run = nextRun(pieces, { rows, windowRows: rows, firstChunkRows: 1 });
      if (run === null) return assert.equal(pieces.length, 0);
      const ids = run.type === "begin" ? [run.id] : run.ids;
      assert.ok(ids.length <= rows && new Set(ids).size === ids.length);
      const chosen = ids.map((id) => pieces.find((piece) => piece.id === id)!);
      assert.equal(Math.min(...pieces.map((piece) => piece.dueAtMs)), chosen[0]!.dueAtMs);
      assert.ok(chosen.every((piece) => piece.stage.type === run.type));
      if (run.type !== "step") return;
      const lengths = chosen.map(({ stage }) => (stage.type === "step" ? stage.patches : 0));
      assert.equal(run.patches, paddedPatches(Math.max(...lengths)));
      assert.ok(Math.max(...lengths) <= 2 * lengths[0]!);
    }),
  );
});

test("lengths are padded to few shapes, by at most a thirty-second", () => {
  const shapes = new Set<number>();
  for (let patches = 1; patches <= 1_200; patches++) {
    const padded = paddedPatches(patches);
    assert.equal(paddedPatches(padded), padded);
    assert.ok(padded >= patches && (padded <= 8 || padded - patches < patches / 31), `${patches}: ${padded}`);
    shapes.add(padded);
  }
  assert.ok(shapes.size <= 230, `${shapes.size} shapes`);
});

test("a short piece that is due first does not wait for the step of a long one", () => {
  const pieces = [step(0, 1, 20), step(1, 2, 400), step(2, 3, 30)];
  assert.deepEqual(nextRun(pieces, { rows: 4, windowRows: 4, firstChunkRows: 1 }), {
    type: "step",
    ids: [0, 2],
    patches: 30,
  });
});

test("first chunks that arrive at about the same time share steps while there is room", () => {
  const limits = { rows: 1, windowRows: 1, firstChunkRows: 3 };
  const run = (pieces: readonly PieceInFlight[]) => nextRun(pieces, limits);
  assert.deepEqual(run([first(0, 0), first(1, 0)]), { type: "step", ids: [0, 1], patches: 32 });
  assert.deepEqual(run([first(0, 4), first(1, 0)]), { type: "step", ids: [0, 1], patches: 32 });
  assert.deepEqual(run([first(0, 5), first(1, 0)]), { type: "step", ids: [0], patches: 32 });
  const four = [0, 1, 2, 3].map((id) => first(id, 1));
  assert.deepEqual(run(four), { type: "step", ids: [0, 1, 2], patches: 32 });
  // Neither chunks whose listener already has audio, nor pieces that are sent as a whole.
  assert.deepEqual(run([first(0, 0), step(1, 5, 32)]), { type: "step", ids: [0], patches: 32 });
  assert.deepEqual(run([step(0, -1, 32), first(1, 0)]), { type: "step", ids: [0], patches: 32 });
});

test("waiting first chunks start before the first one continues, unless they are late or the run is full", () => {
  const limits = { rows: 1, windowRows: 1, firstChunkRows: 3 };
  const run = (pieces: readonly PieceInFlight[]) => nextRun(pieces, limits);
  assert.deepEqual(run([first(0, 4), first(1, null)]), { type: "begin", id: 1 });
  assert.deepEqual(run([first(0, 5), first(1, null)]), { type: "step", ids: [0], patches: 32 });
  const full = [first(0, 0), first(1, 0), first(2, 0), first(3, null)];
  assert.deepEqual(run(full), { type: "step", ids: [0, 1, 2], patches: 32 });
  assert.deepEqual(nextRun([first(0, 0), first(1, null)], { rows: 1, windowRows: 1, firstChunkRows: 1 }), {
    type: "step",
    ids: [0],
    patches: 32,
  });
});

/** Simulates equal pieces on a machine that needs `stepMs` per step. Returns when each was done. */
function simulate(arrivals: readonly { atMs: number; urgency: Urgency; steps: number }[], stepMs: number) {
  const waiting = arrivals.map((arrival, id) => ({ ...arrival, id, stepsLeft: arrival.steps }));
  const doneAtMs = new Map<number, number>();
  let nowMs = 0;
  while (doneAtMs.size < arrivals.length) {
    const present = waiting.filter((piece) => piece.atMs <= nowMs && piece.stepsLeft > 0);
    const run = nextRun(
      present.map((piece) => step(piece.id, dueAtMs(piece.urgency, piece.atMs, piece.steps * stepMs), 100)),
      { rows: 1, windowRows: 1, firstChunkRows: 1 },
    );
    nowMs += stepMs;
    if (run?.type !== "step") continue;
    const piece = waiting[run.ids[0]!]!;
    piece.stepsLeft--;
    if (piece.stepsLeft === 0) doneAtMs.set(piece.id, nowMs);
  }
  return doneAtMs;
}

test("no piece starves, however many follow it", () => {
  const newcomers = Array.from({ length: 500 }, (_, index) => ({
    atMs: index * 150,
    urgency: { kind: "first" } as const,
    steps: 16,
  }));
  const arrivals = [
    { atMs: 0, urgency: { kind: "whole" } as const, steps: 16 },
    { atMs: 0, urgency: { kind: "heard", runsDryAtMs: 3_000 } as const, steps: 16 },
    ...newcomers,
  ];
  // New pieces alone exceed the machine's capacity, with 160 ms of work every 150 ms, so work that is due is
  // late but not starved.
  const done = simulate(arrivals, 10);
  assert.ok((done.get(0) ?? Number.NaN) < 4_000, `whole at ${done.get(0)} ms`);
  assert.ok((done.get(1) ?? Number.NaN) < 3_500, `heard at ${done.get(1)} ms`);
});

test("a new listener goes first, unless another one would run dry", () => {
  const first = { atMs: 100, urgency: { kind: "first" } as const, steps: 20 };
  const heard = (runsDryAtMs: number) => ({
    atMs: 0,
    urgency: { kind: "heard", runsDryAtMs } as const,
    steps: 40,
  });
  const patient = simulate([heard(5_000), first], 10);
  assert.equal(patient.get(1), 100 + 200);
  const urgent = simulate([heard(500), first], 10);
  assert.ok((urgent.get(0) ?? Number.NaN) <= 500);
});

test("serving the earliest due first meets every deadline if that is possible at all", () => {
  // 8 streams of sentences that last 3 s and take 0.25 s each: two thirds of the machine's capacity.
  const arrivals = Array.from({ length: 8 }, (_, stream) =>
    Array.from({ length: 6 }, (_unused, sentence) => ({
      atMs: stream * 40 + Math.max(0, sentence - 2) * 3_000,
      urgency:
        sentence === 0
          ? ({ kind: "first" } as const)
          : ({ kind: "heard", runsDryAtMs: 2_500 + sentence * 3_000 } as const),
      steps: 25,
    })),
  ).flat();
  const done = simulate(arrivals, 10);
  for (const [id, { urgency }] of arrivals.entries()) {
    if (urgency.kind === "heard")
      assert.ok((done.get(id) ?? Number.NaN) <= urgency.runsDryAtMs, `piece ${id}`);
  }
});

/** Chunks of a 7.7 s sentence: milliseconds of work, and of audio. */
const CHUNKS = [
  { workMs: 60, soundMs: 500 },
  { workMs: 120, soundMs: 1_000 },
  { workMs: 200, soundMs: 2_000 },
  { workMs: 360, soundMs: 4_200 },
];
const STEPS = 20;

test("first chunks of all streams go before later audio without an underrun", () => {
  const workMs = CHUNKS.reduce((sum, chunk) => sum + chunk.workMs, 0);
  // Three arrive together, at intervals that keep the machine busy for 0.7 of the time.
  const streams = Array.from({ length: 60 }, (_, id) => {
    const atMs = Math.floor(id / 3) * ((3 * workMs) / 0.7);
    const due = dueAtMs({ kind: "first" }, atMs, CHUNKS[0]!.workMs);
    return { id, atMs, due, chunk: 0, stepsLeft: STEPS, playsFromMs: Number.NaN, soundMs: 0 };
  });
  const isDone = ({ chunk }: (typeof streams)[number]) => chunk === CHUNKS.length;
  let nowMs = 0;
  while (!streams.every(isDone)) {
    const present = streams.filter((stream) => stream.atMs <= nowMs && !isDone(stream));
    const run = nextRun(
      present.map(({ id, due }) => step(id, due, 100)),
      { rows: 1, windowRows: 1, firstChunkRows: 1 },
    );
    if (run?.type !== "step") {
      nowMs++;
      continue;
    }
    const stream = streams[run.ids[0]!]!;
    const { workMs: chunkMs, soundMs } = CHUNKS[stream.chunk]!;
    nowMs += chunkMs / STEPS;
    if (--stream.stepsLeft > 0) continue;
    if (stream.chunk === 0) {
      stream.playsFromMs = nowMs;
      const waitedMs = nowMs - stream.atMs;
      assert.ok(waitedMs < 3 * CHUNKS[0]!.workMs + 100, `stream ${stream.id} is heard after ${waitedMs} ms`);
    }
    const dryAtMs = stream.playsFromMs + stream.soundMs;
    assert.ok(nowMs <= dryAtMs + 1e-6, `stream ${stream.id} runs dry for ${nowMs - dryAtMs} ms`);
    stream.chunk++;
    stream.stepsLeft = STEPS;
    stream.soundMs += soundMs;
    stream.due = chunkDueAtMs(stream.playsFromMs, stream.soundMs);
  }
});
