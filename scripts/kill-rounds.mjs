// Kills the whole service under load repeatedly, and compares the ledger with what clients received:
// `npm run build && node scripts/kill-rounds.mjs 100`. `npm test` runs two rounds.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const rounds = process.argv[2] ?? "100";
const test = fileURLToPath(new URL("../dist/test/fault/service-killed.test.js", import.meta.url));
const env = { ...process.env, KILL_ROUNDS: rounds };
process.exitCode = spawnSync(process.execPath, [test], { env, stdio: "inherit" }).status ?? 1;
