import assert from "node:assert/strict";
import { test } from "node:test";
import type { HistoryEvent } from "./history.js";
import { summaryOf } from "./summary.js";

const HISTORY: readonly HistoryEvent[] = [
  { atMs: 0, type: "request", key: "k1", work: "speech" },
  { atMs: 100, type: "fault", round: 0, kind: "gateway killed", target: 1, phase: "applied" },
  { atMs: 200, type: "attempt", key: "k1", status: 503, detail: "metering is not available" },
  { atMs: 300, type: "live reconnecting", session: "live-0", detail: "the connection was lost" },
  { atMs: 400, type: "fault", round: 0, kind: "gateway killed", target: 1, phase: "healed" },
  { atMs: 900, type: "fault", round: 0, kind: "gateway killed", target: 1, phase: "sound" },
  { atMs: 1_000, type: "response", key: "k1", chargedId: "req_1", digest: "aa", isReplay: true },
  { atMs: 2_000, type: "fault", round: 1, kind: "gateway killed", target: 0, phase: "applied" },
  { atMs: 5_000, type: "fault", round: 1, kind: "gateway killed", target: 0, phase: "sound" },
  { atMs: 6_000, type: "fault", round: 2, kind: "disk full", target: 0, phase: "applied" },
  { atMs: 6_500, type: "attempt", key: "k2", status: null, detail: "fetch failed" },
];

test("counts the work, and for each kind of fault the recovery time and the failed attempts", () => {
  const summary = summaryOf(HISTORY);
  assert.deepEqual(
    [summary.rounds, summary.requests, summary.responses, summary.replays, summary.failedAttempts],
    [2, 1, 1, 1, 2],
  );
  assert.deepEqual(summary.faults, [
    { fault: "gateway killed", times: 2, longestMs: 3_000, failedAttempts: 1, reconnections: 1 },
    { fault: "disk full", times: 1, longestMs: 0, failedAttempts: 1, reconnections: 0 },
  ]);
});
