import assert from "node:assert/strict";
import { test } from "node:test";
import { acceptsEvents } from "../../core/protocol/accepts-events.js";

test("only clients that prefer events to JSON get events", () => {
  for (const [accept, expected] of [
    [undefined, false],
    ["", false],
    ["*/*", false],
    ["text/*", false],
    ["application/json", false],
    ["text/event-stream", true],
    ["Text/Event-Stream; charset=utf-8", true],
    ["text/event-stream, application/json", true],
    ["application/json, text/event-stream", false],
    ["application/json;q=0.5, text/event-stream", true],
    ["text/event-stream;q=0.5, */*;q=0.8", false],
    ["text/event-stream, */*", true],
    ["text/event-stream;q=0", false],
    ["text/event-stream;q=many", false],
  ] as const) {
    assert.equal(acceptsEvents(accept), expected, String(accept));
  }
});
