import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { isAlive } from "../../src/store/postgres/folder-lock.js";
import { eventually } from "../support/eventually.js";
import { temporaryFolder } from "../support/folders.js";

const PRELOAD = fileURLToPath(new URL("../../../scripts/test-process.cjs", import.meta.url));

/** No test can wait for an hour, so each test lowers only the limit that it wants to reach. */
const HOUR = "3600000";
const LIMITS = { TEST_LEFT_OPEN_MS: "50", TEST_LEFT_OPEN_BY_FAILURE_MS: HOUR };

/** Runs a test file as the runner does. Returns the exit code and standard error. */
async function runFile(text: string, limits = LIMITS): Promise<{ code: number; said: string }> {
  const file = join(await temporaryFolder(), "one.test.js");
  await writeFile(file, `const { after, test } = require("node:test");\n${text}`);
  const child = spawn(process.execPath, ["--require", PRELOAD, file], {
    env: { ...process.env, NODE_OPTIONS: "", TEST_RUNNER_PID: String(process.pid), ...limits },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (part: string) => {
    said += part;
  });
  const [code] = (await once(child, "close")) as [number];
  return { code, said };
}

describe("the process of a test file", { concurrency: true }, () => {
  test("exits with 0 and prints nothing if the tests pass", async () => {
    assert.deepEqual(await runFile("test('a', () => {}); after(() => {});"), { code: 0, said: "" });
  });

  test("fails if it ends before its tests", async () => {
    const { code, said } = await runFile("test('a', () => process.exit(0)); test('b', () => {});");
    assert.equal(code, 1);
    assert.match(said, /ended before its tests were over/);
  });

  test("fails if a test leaves something open", async () => {
    const { code, said } = await runFile("test('a', () => void setInterval(() => {}, 1_000));");
    assert.equal(code, 1);
    assert.match(said, /left open, 50 ms after the last test: .*Timeout/);
  });

  test("ends earlier if a test has failed", async () => {
    const text = "test('a', () => { setInterval(() => {}, 1_000); throw new Error('a failure'); });";
    const limits = { TEST_LEFT_OPEN_MS: HOUR, TEST_LEFT_OPEN_BY_FAILURE_MS: "50" };
    const { code, said } = await runFile(text, limits);
    assert.equal(code, 1);
    assert.match(said, /left open, 50 ms after the last test: .*Timeout/);
  });

  test("ends the programs that a test leaves running", { skip: process.platform !== "linux" }, async () => {
    const { code, said } = await runFile(`test("a", () => {
      const child = require("node:child_process").spawn("sleep", ["3600"], { stdio: "ignore" });
      process.stderr.write("started " + child.pid + ".");
    });`);
    assert.equal(code, 1);
    const id = Number(/started (\d+)\./.exec(said)?.[1]);
    await eventually("the program has ended", () => !isAlive(id));
  });
});
