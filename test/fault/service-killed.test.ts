import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "../support/folders.js";
import { killRounds } from "./kill-rounds.js";

/** `node scripts/kill-rounds.mjs 100` runs 100 rounds. */
const ROUNDS = Number(process.env["KILL_ROUNDS"] ?? 2);

test(`after kill -9 at ${ROUNDS} random moments exactly the work that was received is charged once`, async (t) => {
  const report = await killRounds(await temporaryFolder(), ROUNDS);
  t.diagnostic(JSON.stringify(report));
  assert.ok(report.answered > 0 && report.sessions > 0, "there was load");
});
