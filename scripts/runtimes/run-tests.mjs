// Runs compiled tests with the running Node, and prints the results by folder and front as JSON on the last
// line. `node run-tests.mjs PATH…` selects files of dist/test whose path contains one of the words.
import { relative } from "node:path";
import { run } from "node:test";
import { fileURLToPath } from "node:url";
import { testFiles } from "../test-files.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const FILE_TIMEOUT_MS = 900_000;
/** Patterns that recognize the front of a test by the names of its suites. */
const FRONTS = [
  ["threads", /\bin two threads\b/],
  ["native", /\b(?:front|fronts?|on|at) (?:the front )?uws\b|\bnative front\b/],
  ["node", /\b(?:front|fronts?|on|at) (?:the front )?node\b/],
];

process.chdir(root);
const words = process.argv.slice(2);
const files = testFiles().filter((file) => words.some((word) => file.includes(word)));
const counts = {};
const failures = [];
const skipped = [];
/** Names of the suites around the current test, by depth. */
const names = [];
for await (const { type, data } of run({
  files,
  concurrency: Number(process.env["AT_A_TIME"] ?? 2),
  timeout: FILE_TIMEOUT_MS,
})) {
  if (type === "test:start") names[data.nesting] = data.name;
  if (type !== "test:pass" && type !== "test:fail") continue;
  names[data.nesting] = data.name;
  if (data.details?.type === "suite" && data.details.error === undefined) continue;
  const path = names.slice(0, data.nesting + 1).join(" > ");
  const file = relative(root, data.file ?? "");
  // The runner reports a file like a test; its tests are reported separately.
  if (data.nesting === 0 && (data.name === data.file || path.endsWith(".js"))) continue;
  if (type === "test:fail" && data.details?.error?.failureType === "subtestsFailed") continue;
  const outcome = type === "test:fail" ? "failed" : data.skip !== undefined ? "skipped" : "passed";
  const folder = file.split("/")[2] ?? "";
  const front = FRONTS.find(([, pattern]) => pattern.test(path))?.[0] ?? "any";
  counts[folder] ??= {};
  counts[folder][front] ??= { passed: 0, failed: 0, skipped: 0 };
  counts[folder][front][outcome]++;
  if (outcome === "skipped") skipped.push(`${file}: ${path}: ${data.skip}`);
  if (outcome !== "failed") continue;
  const error = data.details?.error?.cause ?? data.details?.error;
  failures.push({ test: `${file}: ${path}`, error: String(error?.stack ?? error).slice(0, 2_000) });
  console.error(`failed ${file}: ${path}\n${failures.at(-1).error}`);
}
console.log(JSON.stringify({ node: process.version, files: files.length, counts, failures, skipped }));
process.exitCode = failures.length > 0 ? 1 : 0;
