import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "../store/support.js";
import { killRounds } from "./kill-rounds.js";

/** `node scripts/kill-rounds.mjs 100` looks longer. */
const ROUNDS = Number(process.env["KILL_ROUNDS"] ?? 2);

test(`after kill -9 at ${ROUNDS} random moments every answer and session is charged exactly once`, async (t) => {
  const report = await killRounds(await temporaryFolder(), ROUNDS);
  t.diagnostic(JSON.stringify(report));
  assert.ok(report.answered > 0 && report.sessions > 0, "there was load");
  // A kill in the very millisecond between a charge and its answer cannot be told from an answer that was lost.
  assert.ok(
    report.chargedUnanswered <= 1 + ROUNDS / 50,
    `${report.chargedUnanswered} charges without an answer`,
  );
});
