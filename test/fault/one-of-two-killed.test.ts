// Two services on one database, one of which is killed under load.
import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "../support/folders.js";
import { killRoundsOfTwo } from "./kill-rounds.js";

/** `KILL_ROUNDS=20 npm test -- one-of-two` runs 20 rounds. */
const ROUNDS = Number(process.env["KILL_ROUNDS"] ?? 1);

test(`after kill -9 of one of two services, its next start or the other one charges everything once`, async (t) => {
  const report = await killRoundsOfTwo(await temporaryFolder(), ROUNDS);
  t.diagnostic(JSON.stringify(report));
  assert.ok(report.answered > 0 && report.sessions > 0, "there was load");
});
