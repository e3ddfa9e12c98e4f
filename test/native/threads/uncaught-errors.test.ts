import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { runProgram } from "../../support/run-program.js";
import type { Seen } from "./failing-thread.js";

const PROGRAM = fileURLToPath(new URL("./failing-thread.js", import.meta.url));

test("a thread that fails in a microtask before a run ends with its error, and not the process", async () => {
  const { code, stdout, stderr } = await runProgram(PROGRAM, []);
  assert.equal(code, 0, stderr);
  assert.deepEqual(JSON.parse(stdout), {
    messages: ["before"],
    errors: ["the first error"],
  } satisfies Seen);
});
