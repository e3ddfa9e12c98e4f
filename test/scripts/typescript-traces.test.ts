import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { asServiceError } from "../../core/domain/errors.js";
import { temporaryFolder } from "../support/folders.js";

test("a stack trace shows lines of TypeScript, in any module", () => {
  const own = Error.prepareStackTrace;
  createRequire(import.meta.url)("../../../scripts/typescript-traces.cjs");
  try {
    const { stack = "" } = new Error("here");
    const [head, first] = stack.split("\n");
    assert.equal(head, "Error: here");
    assert.match(first ?? "", /^ {4}at .*\/test\/scripts\/typescript-traces\.test\.ts:14:\d+\)?$/);
    assert.doesNotMatch(first ?? "", /dist/);
    const elsewhere = asServiceError("no error at all").stack?.split("\n")[1];
    assert.match(elsewhere ?? "", /\/core\/domain\/errors\.ts:\d+:\d+\)$/);
    assert.match(stack, /\bnode:/, "frames without a source stay as they are");
  } finally {
    Error.prepareStackTrace = own!;
  }
});

// A service without free file descriptors once failed to read a map while it formatted an error, and was
// aborted.
test("an unreadable source map leaves the trace unchanged", async () => {
  const own = Error.prepareStackTrace;
  const file = join(await temporaryFolder(), "thrower.mjs");
  await writeFile(file, "export const thrown = new Error('here');\n");
  await mkdir(`${file}.map`);
  const { thrown } = (await import(pathToFileURL(file).href)) as { thrown: Error };
  createRequire(import.meta.url)("../../../scripts/typescript-traces.cjs");
  try {
    assert.match(thrown.stack ?? "", /thrower\.mjs:1:23/);
  } finally {
    Error.prepareStackTrace = own!;
  }
});
