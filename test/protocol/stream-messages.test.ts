import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../core/domain/errors.js";
import { parseStreamClientMessage } from "../../core/protocol/stream-messages.js";
import { parseStreamQuery } from "../../core/protocol/stream-query.js";
import { CATALOG } from "../support/catalog.js";

test("known messages are parsed, unknown ones ignored, and other text gives null", () => {
  for (const type of ["finalize", "close", "keepalive"] as const) {
    assert.deepEqual(parseStreamClientMessage(JSON.stringify({ type, more: 1 })), { type });
  }
  for (const text of ['{"type":"toString"}', '{"type":1}', "{}", "[]", "null", "5", '"close"']) {
    assert.deepEqual(parseStreamClientMessage(text), { type: "ignored" }, text);
  }
  for (const text of ["", "{", "close"]) assert.equal(parseStreamClientMessage(text), null, text);
});

test("the pause is a whole number of milliseconds from 100 to 2000", () => {
  const read = (value: string) =>
    parseStreamQuery(new URLSearchParams({ eou_ms: value }), CATALOG.hearing).endOfUtteranceMs;
  assert.equal(read("100"), 100);
  assert.equal(read("2000"), 2000);
  for (const value of ["99", "2001", "", "1e3", "200.5", "-200", " 200"]) {
    assert.throws(() => read(value), ServiceError, value);
  }
});
