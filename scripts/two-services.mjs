// Runs API suites over two services on one database, with each request sent to a random one of them:
// `npm run build && node scripts/two-services.mjs [WORDS]`. `PROPERTY_SEED=random` draws and prints another
// seed. `npm test` does the same with one suite (`test/e2e/two-services.test.ts`).
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Suites that only send requests, and neither observe nor kill the service. */
const SUITES = [
  "client/service",
  "e2e/word-times",
  "e2e/listen",
  "e2e/money",
  "e2e/last-credits",
  "e2e/tiers",
];

const words = process.argv.slice(2);
const tests = fileURLToPath(new URL("./test.mjs", import.meta.url));
const env = { ...process.env, TEST_SERVICES: "2" };
const args = [tests, ...(words.length > 0 ? words : SUITES)];
process.exitCode = spawnSync(process.execPath, args, { env, stdio: "inherit" }).status ?? 1;
