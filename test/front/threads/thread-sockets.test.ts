import assert from "node:assert/strict";
import { test } from "node:test";
import type { FrontSocket } from "../../../core/ports/front.js";
import { RecordRing } from "../../../native/ring/record-ring.js";
import { SOCKET_RECORD } from "../../../src/front/threads/protocol.js";
import { ThreadSockets } from "../../../src/front/threads/thread-sockets.js";

const SOCKET: FrontSocket = {
  bufferedBytes: 0,
  sendText: () => {},
  sendBinary: () => {},
  close: () => {},
  terminate: () => {},
};

test("an empty message among joined ones arrives in order", () => {
  const inbox = RecordRing.create(2 ** 16);
  const sockets = new ThreadSockets(inbox, new Int32Array(new SharedArrayBuffer(64)), () => {});
  const events = sockets.open(1, SOCKET);
  const MESSAGES = 40;
  for (let i = 0; i < MESSAGES; i++) events.binary(new Uint8Array(2));
  events.binary(new Uint8Array(0));
  events.text("after it");
  const heard: string[] = [];
  let audioBytes = 0;
  inbox.drain((kind, _id, bytes) => {
    if (kind === SOCKET_RECORD.text) heard.push("text");
    if (kind !== SOCKET_RECORD.binary) return;
    audioBytes += bytes.length;
    if (bytes.length === 0) heard.push(`empty after ${audioBytes} bytes`);
  });
  assert.deepEqual(heard, [`empty after ${2 * MESSAGES} bytes`, "text"]);
});
