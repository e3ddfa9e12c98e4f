import assert from "node:assert/strict";
import { test } from "node:test";
import { type CapacityInputs, plan, wallsOf } from "../../bench/support/capacity-model.js";

const INPUTS: CapacityInputs = {
  sessionsPerWorker: 160,
  sessionsPerFront: 2_000,
  bytesPerSecond: 32_000,
  framesPerSecond: 25,
  busMicrosPerFrame: 7.1,
  busRouteFactor: 1.7,
  busServerCores: 8,
  busServers: 3,
  networkGbits: 25,
  cellSessions: 20_000,
  sessionSeconds: 180,
  holdSeconds: 60,
  ledgerPerSecond: 489,
  ledgerPerSecondOfOne: 123,
  journalMicrosPerHold: 6,
  journalCores: 1,
  synthesisRealTimeFactor: 0.12,
  synthesisStreamsPerSession: 0.1,
};

test("a million sessions need the cells, fronts, cores, network and statements calculated by hand", () => {
  const row = plan(1_000_000, INPUTS);
  assert.deepEqual([row.cells, row.fronts, row.engineCores], [50, 500, 6_250]);
  assert.equal(row.audioGbits, 256);
  assert.equal(row.busCores, 177.5);
  assert.deepEqual([row.synthesisStreams, row.synthesisCores], [100_000, 12_000]);
  // 5.6 k openings, as many charges, and 16.7 k further holds.
  assert.equal(Math.round(row.ledgerPerSecond), 27_778);
});

test("a size lists the limits that it exceeds, in order", () => {
  const walls = wallsOf(INPUTS);
  assert.deepEqual(
    walls.map(({ sessions }) => sessions),
    walls.map(({ sessions }) => sessions).toSorted((a, b) => a - b),
  );
  assert.deepEqual(plan(1_999, INPUTS).walls, []);
  assert.deepEqual(
    plan(2_001, INPUTS).walls.map(({ name }) => name),
    ["one front's thread"],
  );
  // 489 changes a second, 1/36 per session.
  const ledger = walls.find(({ name }) => name === "ledger")!;
  assert.ok(Math.abs(ledger.sessions - 489 * 36) < 1e-6, String(ledger.sessions));
  assert.equal(plan(1_000_000, INPUTS).walls.length, walls.length);
});
