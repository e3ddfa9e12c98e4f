import assert from "node:assert/strict";
import { test } from "node:test";
import { jobKillRounds } from "./job-kills.js";

/** `node scripts/job-kill-rounds.mjs 100` runs 100 rounds. */
const ROUNDS = Number(process.env["KILL_ROUNDS"] ?? 4);

test(`after ${ROUNDS} kills of services, database and workers each job has ended and been charged once`, async (t) => {
  const report = await jobKillRounds(ROUNDS);
  t.diagnostic(JSON.stringify(report));
  assert.ok(report.jobs > 0 && report.requests > 0, "there was load");
});
