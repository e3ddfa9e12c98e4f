import assert from "node:assert/strict";
import { test } from "node:test";
import { encode } from "@msgpack/msgpack";
import { readMessagePack } from "../../src/conformance/message-pack.js";
import * as fc from "../support/properties.js";

test("reads every JSON value that the service's encoder writes", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const plain = JSON.parse(JSON.stringify(value)) as unknown;
      assert.deepEqual(readMessagePack(encode(plain)), plain);
    }),
    { numRuns: 1_000 },
  );
  for (const value of [
    "ш".repeat(20_000),
    2 ** 31,
    -(2 ** 31),
    -129,
    70_000,
    Array.from({ length: 70_000 }, () => 1),
  ])
    assert.deepEqual(readMessagePack(encode(value)), value);
});

test("rejects truncated bytes, and bytes after the value", () => {
  const message = encode({ type: "final", text: "сәлем" });
  for (let length = 0; length < message.length; length++)
    assert.throws(() => readMessagePack(message.subarray(0, length)), RangeError);
  assert.throws(() => readMessagePack(Buffer.concat([message, Buffer.alloc(1)])), RangeError);
});
