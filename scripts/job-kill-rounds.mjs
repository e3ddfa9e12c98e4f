// Kills services, their database and their workers under load repeatedly, and compares jobs, charges and
// webhooks with what clients submitted: `npm run build && node scripts/job-kill-rounds.mjs 100`. `npm test`
// runs four rounds.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const rounds = process.argv[2] ?? "100";
const test = fileURLToPath(new URL("../dist/test/fault/jobs-killed.test.js", import.meta.url));
const env = { ...process.env, KILL_ROUNDS: rounds };
process.exitCode = spawnSync(process.execPath, [test], { env, stdio: "inherit" }).status ?? 1;
