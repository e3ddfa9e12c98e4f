import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { WebSocket } from "ws";
import { Floods } from "../../src/live/upgrade.js";
import { GOOD_KEY } from "../http/fake-conversations.js";
import { FRONTS, startTransport } from "../http/running-transport.js";
import { ManualClock } from "../support/manual-clock.js";

const FLOODER = "an organization 127.0.0.1";

test("only a client with four floods must wait", () => {
  const clock = new ManualClock();
  const floods = new Floods(clock);
  for (let nth = 0; nth < 4; nth++) {
    floods.check(FLOODER);
    floods.note(FLOODER);
  }
  assert.throws(() => floods.check(FLOODER), { code: "TOO_MANY_REQUESTS" });
  floods.check("an organization 127.0.0.2");
  clock.advance(499);
  assert.throws(() => floods.check(FLOODER), { code: "TOO_MANY_REQUESTS" });
  clock.advance(1);
  floods.check(FLOODER);
  floods.note(FLOODER);
  assert.throws(() => floods.check(FLOODER), { code: "TOO_MANY_REQUESTS" });
});

for (const front of FRONTS) {
  test(`on ${front} a flooding client gets the reason and must wait after four times`, async () => {
    const clock = new ManualClock();
    const running = await startTransport(front, { clock });
    const connect = () =>
      new WebSocket(`ws://127.0.0.1:${running.port}/v1/stream`, {
        headers: { authorization: `Bearer ${GOOD_KEY}` },
      });
    try {
      for (let flood = 0; flood < 4; flood++) {
        const socket = connect();
        await once(socket, "open");
        let last = "";
        socket.on("message", (data) => {
          last = String(data);
        });
        const closed = once(socket, "close") as Promise<[number, Buffer]>;
        // The loop runs until the error arrives, because a slow machine reads few of the messages in the time
        // in which a client may send this many.
        while (socket.readyState === WebSocket.OPEN) {
          for (let nth = 0; nth < 800; nth++) socket.send('{"type":"keepalive"}');
          await nextTurn();
        }
        const [closeCode, reason] = await closed;
        assert.deepEqual([closeCode, String(reason)], [4400, "too_many_messages"]);
        const { code, detail } = JSON.parse(last) as Record<string, unknown>;
        assert.equal(code, "too_many_messages");
        assert.match(String(detail), /^too many messages: at most 600 text messages/);
      }
      const refused = connect();
      const [, answer] = (await once(refused, "unexpected-response")) as [unknown, IncomingMessage];
      assert.equal(answer.statusCode, 429);
      assert.equal(answer.headers["retry-after"], "1");
      answer.destroy();
      clock.advance(1_000);
      const again = connect();
      await once(again, "open");
      again.terminate();
    } finally {
      await running.stop();
    }
  });
}
