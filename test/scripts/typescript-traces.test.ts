import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { asServiceError } from "../../src/domain/errors.js";

test("a trace names the lines of TypeScript, in whatever module it stands", () => {
  const own = Error.prepareStackTrace;
  createRequire(import.meta.url)("../../../scripts/typescript-traces.cjs");
  try {
    const { stack = "" } = new Error("here");
    const [head, first] = stack.split("\n");
    assert.equal(head, "Error: here");
    assert.match(first ?? "", /^ {4}at .*\/test\/scripts\/typescript-traces\.test\.ts:10:\d+\)?$/);
    assert.doesNotMatch(first ?? "", /dist/);
    const elsewhere = asServiceError("no error at all").stack?.split("\n")[1];
    assert.match(elsewhere ?? "", /\/src\/domain\/errors\.ts:\d+:\d+\)$/);
    assert.match(stack, /\bnode:/, "frames without a source stay as they are");
  } finally {
    Error.prepareStackTrace = own!;
  }
});
