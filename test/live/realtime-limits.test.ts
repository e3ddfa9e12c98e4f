import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { WebSocket } from "ws";
import { GOOD_KEY } from "../http/fake-conversations.js";
import { startTransport } from "../http/running-transport.js";
import { append } from "../support/realtime-events.js";
import { CLEAR, describeRealtime, PIECE } from "./realtime-sessions.js";

describeRealtime("errors and limits of /v1/realtime", (realtime) => {
  const { opened } = realtime;

  test("errors of the session arrive in OpenAI's shape, before the close code", async () => {
    const { socket, events, closed, started } = await opened();
    socket.send(append(PIECE));
    const { sink } = await started();
    sink.send({ type: "error", code: "out_of_credits", detail: "out of credits", retryable: false });
    sink.close(4429, "out_of_credits");
    assert.equal((await closed)[0], 4429);
    const { error } = await events.seen("error");
    assert.deepEqual(error, {
      type: "insufficient_quota",
      code: "insufficient_quota",
      message: "out of credits",
      param: null,
      event_id: null,
    });
  });

  test("a rejected handshake gives the reason: a wrong key, intent or model, a call, a key in the query", async () => {
    for (const [query, key, status, pattern] of [
      ["", `sk-svc-${"ab".repeat(24)}`, 401, /API key/],
      ["intent=conversation", GOOD_KEY, 400, /intent must be transcription/],
      ["model=nova-3", GOOD_KEY, 400, /model must be one of svc-kk-ru-v2/],
      ["model=gpt-4o-transcribe-diarize", GOOD_KEY, 400, /model must be one of/],
      ["call_id=rtc_1", GOOD_KEY, 400, /call_id is not supported/],
      [`model=${GOOD_KEY}`, GOOD_KEY, 400, /must not be sent in the URL/],
      ["modle=x", GOOD_KEY, 400, /did you mean "model"/],
    ] as const) {
      const socket = new WebSocket(`ws://127.0.0.1:${realtime.running.port}/v1/realtime?${query}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      socket.on("error", () => {});
      const [, answer] = await once(socket, "unexpected-response");
      assert.equal(answer.statusCode, status, query);
      let body = "";
      for await (const chunk of answer) body += chunk;
      assert.match(JSON.parse(body).detail, pattern);
    }
  });

  test("hostile messages get errors and leave the session unchanged", async () => {
    const { socket, events, handled, sessions } = await opened();
    const hostile = [
      "",
      "{",
      "null",
      "[]",
      '"input_audio_buffer.append"',
      "[".repeat(60_000),
      `{"type":"input_audio_buffer.append","audio":${"[".repeat(50_000)}`,
      JSON.stringify({ type: "input_audio_buffer.append", audio: { length: 4 } }),
      JSON.stringify({ type: "input_audio_buffer.append", audio: `${"A".repeat(70_000)}\u0000` }),
      JSON.stringify({ type: ["session.update"], __proto__: { type: "x" } }),
      '{"type":"session.update","session":{"__proto__":{"type":"realtime"},"audio":null}}',
      `{"type":"x","event_id":"${"e".repeat(5_000)}"}`,
    ];
    for (const message of hostile) socket.send(message);
    await handled();
    assert.equal(sessions.length, 0, "no audio arrived");
    const ids = events.of("error").map(({ error }) => error.event_id);
    assert.ok(ids.every((id) => id === null || id.length <= 100));
    assert.ok(events.of("error").length >= hostile.length - 2);
    socket.terminate();
  });

  test("a binary message is rejected, and ten of them close the socket", async () => {
    const { socket, events, closed, sessions } = await opened();
    for (let nth = 0; nth < 10; nth++) socket.send(PIECE);
    assert.deepEqual((await closed)[0], 4400);
    assert.equal(events.of("error").length, 10);
    assert.equal(events.of("error")[0]!["error"].code, "bad_message");
    assert.equal(sessions.length, 0);
  });

  test("audio faster than real time is no flood, even in long messages; commands are limited", async () => {
    const { socket, events, closed, handled, sessions } = await opened();
    for (let nth = 0; nth < 500; nth++) socket.send(append(PIECE));
    socket.send(append(new Uint8Array(470_400)));
    // JSON encoders of some languages escape slashes, which are frequent in this audio.
    const escaped = append(new Uint8Array(9_600).fill(255)).replaceAll("/", "\\/");
    assert.ok(escaped.length > 20_000);
    socket.send(escaped);
    await handled();
    assert.ok(Math.abs(sessions[0]!.samples - 60 * 16_000) < 100, `${sessions[0]!.samples}`);
    while (socket.readyState === WebSocket.OPEN) {
      for (let nth = 0; nth < 400; nth++) socket.send(CLEAR);
      await new Promise(setImmediate);
    }
    const [code, reason] = await closed;
    assert.deepEqual([code, String(reason)], [4400, "too_many_messages"]);
    assert.equal(events.all.at(-1)?.["error"]?.code, "too_many_messages");
  });

  test("a message beyond a mebibyte closes the socket with 1009", async () => {
    const { socket, closed } = await opened();
    socket.on("error", () => {});
    socket.send(append(new Uint8Array(1 << 20)));
    assert.equal((await closed)[0], 1009);
  });

  test("an organization's sockets are limited, with or without audio", async () => {
    const limited = await startTransport(realtime.front, {
      limitsOf: () => ({ synthesis: 1, files: 1, live: 1 }),
    });
    const connect = () =>
      new WebSocket(`ws://127.0.0.1:${limited.port}/v1/realtime`, {
        headers: { authorization: `Bearer ${GOOD_KEY}` },
      });
    const first = connect();
    await once(first, "open");
    const second = connect();
    second.on("error", () => {});
    const [, answer] = await once(second, "unexpected-response");
    assert.equal(answer.statusCode, 429);
    answer.destroy();
    first.terminate();
    await limited.stop();
  });

  test("a stopping service also closes sockets without audio", async () => {
    const stopping = await startTransport(realtime.front);
    const socket = new WebSocket(`ws://127.0.0.1:${stopping.port}/v1/realtime`, {
      headers: { authorization: `Bearer ${GOOD_KEY}` },
    });
    const closed = once(socket, "close") as Promise<[number, Buffer]>;
    await once(socket, "open");
    await stopping.transport.drain(5_000);
    assert.equal((await closed)[0], 1012);
    await stopping.stop();
  });
});
