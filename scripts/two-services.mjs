// Runs suites of the interface over two services on one database, each request to either by chance:
// `npm run build && node scripts/two-services.mjs [WORDS]`. `PROPERTY_SEED=random` sends requests elsewhere and says the seed.
// The gate does the same with one suite (`test/e2e/two-services.test.ts`).
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Suites whose service is asked, and not watched from outside or killed. */
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
