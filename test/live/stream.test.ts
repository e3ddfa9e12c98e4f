import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { after, before, describe, test } from "node:test";
import { decode } from "@msgpack/msgpack";
import { WebSocket } from "ws";
import { ServiceError } from "../../core/domain/errors.js";
import type { LiveSink, LiveWishes } from "../../core/ports/conversations.js";
import { DOWN_KEY, GOOD_KEY } from "../http/fake-conversations.js";
import { FRONTS, type RunningTransport, startTransport } from "../http/running-transport.js";

const UNKNOWN_KEY = `sk-svc-${"ab".repeat(24)}`;
const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });

for (const front of FRONTS) {
  describe(`live socket on ${front}`, { concurrency: 1 }, () => {
    let running: RunningTransport;
    let url = "";

    before(async () => {
      running = await startTransport(front);
      url = `ws://127.0.0.1:${running.port}/v1/stream`;
    });
    after(async () => {
      await running.stop();
    });

    test("binary messages are audio, text messages are commands", async () => {
      const socket = await opened(new WebSocket(url, bearer(GOOD_KEY)));
      socket.send(Buffer.alloc(3));
      socket.send(Buffer.alloc(98));
      socket.send('{"type":"finalize"}');
      assert.equal((await message(socket))["detail"], "finalize 101");
      socket.send('{"type":"unheard_of"}');
      socket.send('{"type":"keepalive"}');
      assert.equal((await message(socket))["detail"], "keepalive");
      socket.send("not json");
      assert.equal((await message(socket))["detail"], "bad a text message must be JSON");
      socket.send('{"type":"close"}');
      assert.equal((await message(socket))["type"], "done");
      assert.equal((await once(socket, "close"))[0], 1000);
    });

    test("options reach the session; unknown names are ignored", async () => {
      const seen: LiveWishes[] = [];
      const { live } = running.conversations;
      running.conversations.live = (caller, options, sink) => {
        seen.push(options);
        return live(caller, options, sink);
      };
      const hotwords = encodeURIComponent(" Сәлем ,әлем:2.5,");
      for (const query of [
        "",
        `?eou_ms=700&endpointing=adaptive&partials=FALSE&words=1&hotwords=${hotwords}`,
      ]) {
        const socket = await opened(new WebSocket(url + query, bearer(GOOD_KEY)));
        socket.terminate();
      }
      running.conversations.live = live;
      const hotWords = [
        { text: "сәлем", characterScore: 1 },
        { text: "әлем", characterScore: 2.5 },
      ];
      assert.deepEqual(seen, [
        {
          model: "svc-kk-ru-v2",
          endOfUtteranceMs: 200,
          endpointing: "fixed",
          partials: true,
          words: false,
          hotWords: [],
        },
        {
          model: "svc-kk-ru-v2",
          endOfUtteranceMs: 700,
          endpointing: "adaptive",
          partials: false,
          words: true,
          hotWords,
        },
      ]);
    });

    for (const [what, query, key, status, name, pattern] of [
      ["no key", "", null, 401, "key_invalid", /missing or invalid API key/],
      ["an unknown key", "", UNKNOWN_KEY, 401, "key_invalid", /missing or invalid API key/],
      ["a key store that is away", "", DOWN_KEY, 503, "auth_unavailable", /cannot be asked/],
      ["a key in the query", `?key=${GOOD_KEY}`, null, 400, "invalid_request", /must not be sent in the URL/],
      ["a short pause", "?eou_ms=99", GOOD_KEY, 400, "invalid_request", /eou_ms must be an integer from 100/],
      [
        "another encoding",
        "?encoding=cbor",
        GOOD_KEY,
        400,
        "invalid_request",
        /encoding must be one of json, msgpack, received "cbor"/,
      ],
    ] as const) {
      test(`${what} is rejected with ${status} before the upgrade`, async () => {
        const answer = await refusal(new WebSocket(url + query, key === null ? {} : bearer(key)));
        assert.equal(answer.statusCode, status);
        assert.equal(answer.headers["x-svc-error"], name);
        assert.match(answer.headers["x-request-id"] as string, /^req_/);
        const chunks: Buffer[] = [];
        for await (const chunk of answer) chunks.push(chunk as Buffer);
        const body = JSON.parse(Buffer.concat(chunks).toString()) as { detail: string };
        assert.deepEqual(Object.keys(body), ["detail"]);
        assert.match(body.detail, pattern);
      });
    }

    test("a hundred names fit into the query", async () => {
      const name = encodeURIComponent("сәлем әлем");
      const query = `?hotwords=${Array.from({ length: 100 }, () => name).join(",")}`;
      const socket = await opened(new WebSocket(url + query, bearer(GOOD_KEY)));
      assert.equal(running.conversations.options?.hotWords.length, 100);
      socket.terminate();
    });

    test("another path and a request without upgrade are rejected", async () => {
      const other = await refusal(new WebSocket(`ws://127.0.0.1:${running.port}/v1/x`, bearer(GOOD_KEY)));
      assert.equal(other.statusCode, 404);
      assert.equal((await fetch(`${running.base}/v1/stream`)).status, 400);
    });

    test("a browser sends its key as a subprotocol, which is never echoed", async () => {
      const socket = await opened(new WebSocket(url, ["svc-bearer", GOOD_KEY]));
      assert.equal(socket.protocol, "svc-bearer");
      socket.terminate();
    });

    for (const [what, query, key, code, name] of [
      ["a wrong key", "", UNKNOWN_KEY, 4401, "key_invalid"],
      ["a key store that is away", "", DOWN_KEY, 4503, "auth_unavailable"],
      ["a wrong option", "?words=maybe", GOOD_KEY, 4400, "invalid_request"],
      ["a hot word of other letters", "?hotwords=qq", GOOD_KEY, 4400, "invalid_request"],
      [
        "a hot word of too high a score",
        `?hotwords=${encodeURIComponent("сәлем:6")}`,
        GOOD_KEY,
        4400,
        "invalid_request",
      ],
    ] as const) {
      test(`a browser with ${what} gets a socket, the error, and a close with ${code}`, async () => {
        const socket = new WebSocket(url + query, ["svc-bearer", key]);
        const told = message(socket);
        const closed = once(socket, "close");
        const { type, code: said } = await told;
        assert.equal(type, "error");
        assert.equal(said, name);
        assert.equal((await closed)[0], code);
      });
    }

    const newToken = async () => {
      const answer = await fetch(`${running.base}/v1/stream/token`, { method: "POST", ...bearer(GOOD_KEY) });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get("cache-control"), "no-store");
      const body = (await answer.json()) as { token: string; expires_in: number };
      assert.equal(body.expires_in, 60);
      return body.token;
    };

    test("a token opens one socket, in the query or as a subprotocol", async () => {
      const socket = await opened(new WebSocket(`${url}?token=${await newToken()}`));
      socket.terminate();
      const token = await newToken();
      (await opened(new WebSocket(url, ["svc-bearer", token]))).terminate();
      const lookUps = running.keys.lookUps;
      const again = new WebSocket(`${url}?token=${token}`);
      const [told, closed] = await Promise.all([message(again), once(again, "close")]);
      assert.equal(told["code"], "key_invalid");
      assert.equal(closed[0], 4401);
      assert.equal(running.keys.lookUps, lookUps, "a token is never looked up as a key");
    });

    test("a token is issued only for a key and is not a key", async () => {
      const path = `${running.base}/v1/stream/token`;
      assert.equal((await fetch(path, { method: "POST" })).status, 401);
      assert.equal((await fetch(path, { method: "POST", ...bearer(await newToken()) })).status, 401);
      assert.ok(!running.logLines.join("").includes(await newToken()));
    });

    test("with MessagePack every message is one binary map with the same members", async () => {
      const socket = await opened(new WebSocket(`${url}?encoding=msgpack`, bearer(GOOD_KEY)));
      socket.send(Buffer.alloc(101));
      socket.send('{"type":"keepalive"}');
      const expected = { type: "error", code: "echo", detail: "keepalive", retryable: false };
      assert.deepEqual(await binaryMessage(socket), expected);
      socket.send('{"type":"close"}');
      assert.deepEqual(await binaryMessage(socket), {
        type: "done",
        audio_seconds: 101 / 32_000,
        credits_charged: 0,
      });
      const refused = new WebSocket(`${url}?encoding=msgpack&eou_ms=1&token=${await newToken()}`);
      const [told, closed] = await Promise.all([binaryMessage(refused), once(refused, "close")]);
      assert.match(String(told["detail"]), /eou_ms must be an integer/);
      assert.equal(closed[0], 4400);
    });

    test("the client of a session that does not start gets an error and is disconnected", async () => {
      const { live } = running.conversations;
      running.conversations.live = () => {
        throw new ServiceError("ENGINE_BUSY", "no capacity");
      };
      const socket = new WebSocket(url, bearer(GOOD_KEY));
      const [told, closed] = await Promise.all([message(socket), once(socket, "close")]);
      running.conversations.live = live;
      assert.deepEqual(told, { type: "error", code: "engine_busy", detail: "no capacity", retryable: true });
      assert.equal(closed[0], 1013);
    });

    test("a session is notified once when its client vanishes", async () => {
      const { live } = running.conversations;
      let calls = 0;
      const gone = new Promise<void>((resolve) => {
        running.conversations.live = (caller, options, sink) => ({
          ...live(caller, options, sink),
          disconnected() {
            calls++;
            resolve();
          },
        });
      });
      const socket = await opened(new WebSocket(url, bearer(GOOD_KEY)));
      socket.terminate();
      await gone;
      running.conversations.live = live;
      assert.equal(calls, 1);
    });

    test("a client that does not read is disconnected at a limit, without effect on others", async () => {
      const { live } = running.conversations;
      const beside = await opened(new WebSocket(url, bearer(GOOD_KEY)));
      let sink: LiveSink | null = null;
      const gone = new Promise<void>((resolve) => {
        running.conversations.live = (caller, options, given) => {
          sink = given;
          return { ...live(caller, options, given), disconnected: () => resolve() };
        };
      });
      const socket = await opened(new WebSocket(url, bearer(GOOD_KEY)));
      socket.pause();
      running.conversations.live = live;
      const text = "x".repeat(10_000);
      const endlessly = setInterval(() => {
        for (let i = 0; i < 50; i++)
          sink?.send({ type: "partial", utterance: 0, text, start: 0, end: 1, stable: 0 });
      }, 1);
      let isGone = false;
      void gone.then(() => {
        isGone = true;
      });
      for (let answers = 0; answers < 3 || !isGone; answers++) {
        beside.send('{"type":"keepalive"}');
        assert.equal((await message(beside))["detail"], "keepalive");
      }
      clearInterval(endlessly);
      socket.terminate();
      beside.terminate();
    });

    test("a live authorization is reused without another look-up", async () => {
      const lookUps = running.keys.lookUps;
      for (let i = 0; i < 3; i++) (await opened(new WebSocket(url, bearer(GOOD_KEY)))).terminate();
      assert.equal(running.keys.lookUps, lookUps);
    });
  });

  test(`a stopping service on ${front} rejects new work, lets running work finish, and notifies live clients`, async () => {
    const running = await startTransport(front);
    const url = `ws://127.0.0.1:${running.port}/v1/stream`;
    const headers = { authorization: `Bearer ${GOOD_KEY}` };
    const speak = (text: string) =>
      fetch(`${running.base}/v1/tts/stream`, { method: "POST", headers, body: JSON.stringify({ text }) });
    const socket = await opened(new WebSocket(url, bearer(GOOD_KEY)));
    const finishing = await speak("one.slow.two");
    const goodbye = Promise.all([message(socket), once(socket, "close")]);
    const drained = running.transport.drain(60_000);
    const [told, closed] = await goodbye;
    assert.deepEqual(told, { type: "going_away", deadline_s: 60 });
    assert.equal(closed[0], 1012);
    const refused = await speak("a");
    assert.equal(refused.status, 503);
    assert.equal(refused.headers.get("x-svc-error"), "shutting_down");
    assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/);
    assert.equal((await fetch(`${running.base}/ready`)).status, 503);
    assert.equal((await fetch(`${running.base}/health`)).status, 200);
    assert.equal((await refusal(new WebSocket(url, bearer(GOOD_KEY)))).statusCode, 503);
    assert.equal((await finishing.arrayBuffer()).byteLength, 3 * (4 + 44 + 480));
    await drained;
    assert.deepEqual(running.conversations.stops, []);
    await running.stop();
  });

  test(`a stopping service on ${front} stops sessions that do not finish before the deadline`, async () => {
    const running = await startTransport(front);
    const answer = await fetch(`${running.base}/v1/tts/stream`, {
      method: "POST",
      headers: { authorization: `Bearer ${GOOD_KEY}` },
      body: JSON.stringify({ text: `one.${"slow.".repeat(100)}` }),
    });
    const cut = assert.rejects(answer.arrayBuffer());
    await running.transport.drain(100);
    assert.equal(running.conversations.stops[0], "service-stops");
    await running.stop();
    await cut;
  });
}

async function opened(socket: WebSocket): Promise<WebSocket> {
  await once(socket, "open");
  return socket;
}

async function message(socket: WebSocket): Promise<Record<string, unknown>> {
  const [data] = (await once(socket, "message")) as [Buffer];
  return JSON.parse(data.toString()) as Record<string, unknown>;
}

async function binaryMessage(socket: WebSocket): Promise<Record<string, unknown>> {
  const [data, isBinary] = (await once(socket, "message")) as [Buffer, boolean];
  assert.ok(isBinary);
  return decode(data) as Record<string, unknown>;
}

function refusal(socket: WebSocket): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    socket.on("unexpected-response", (_request, answer) => resolve(answer));
    socket.on("open", () => reject(new Error("the upgrade was accepted")));
    socket.on("error", reject);
  });
}
