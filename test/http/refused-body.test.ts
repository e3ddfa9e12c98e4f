import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { GOOD_KEY } from "./fake-conversations.js";
import { FRONTS, startTransport } from "./running-transport.js";

const BLOCK = Buffer.from("1\r\nx\r\n".repeat(40_000));
/** More than all system buffers between client and service hold. */
const MOST_BYTES = 16 << 20;

for (const front of FRONTS) {
  test(`${front} stops reading a rejected body of tiny chunks and reports the reason`, async () => {
    const running = await startTransport(front);
    try {
      const socket = connect(running.port, "127.0.0.1");
      let text = "";
      let isClosed = false;
      socket.on("data", (bytes: Buffer) => (text += bytes.toString("latin1")));
      socket.on("error", () => {
        // The socket is reset while it is still sending. The `close` event follows.
      });
      socket.once("close", () => (isClosed = true));
      socket.write(
        `POST /v1/transcribe HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer ${GOOD_KEY}\r\n` +
          "Transfer-Encoding: chunked\r\n\r\n",
      );
      let bytesBehindAnswer = 0;
      while (!isClosed) {
        const isAnswered = text !== "";
        await written(socket);
        // A closed socket rejects writes before it reports that it has ended.
        await nextTurn();
        if (isAnswered && !isClosed) bytesBehindAnswer += BLOCK.length;
      }
      assert.match(text, /^HTTP\/1\.1 400 /);
      assert.match(text, /send larger chunks/);
      assert.ok(bytesBehindAnswer <= MOST_BYTES, `${bytesBehindAnswer} bytes were taken behind the answer`);
    } finally {
      await running.stop();
    }
  });
}

/** Settles when a block has left this process or the connection has ended. */
function written(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once("close", resolve);
    socket.write(BLOCK, () => {
      socket.off("close", resolve);
      resolve();
    });
  });
}
