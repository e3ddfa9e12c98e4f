// Kills live workers every 2 s under 50 paced sessions and compares their finals with undisturbed ones:
// `npm run build && node scripts/live-kills.mjs 120`. `npm test` does the same for a few seconds.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const seconds = process.argv[2] ?? "120";
const test = fileURLToPath(new URL("../dist/test/fault/live-workers-killed.test.js", import.meta.url));
const env = { ...process.env, LIVE_KILL_SECONDS: seconds };
process.exitCode = spawnSync(process.execPath, [test], { env, stdio: "inherit" }).status ?? 1;
