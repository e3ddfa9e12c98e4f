import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { after, before, describe, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { WebSocket } from "ws";
import { ALAW_SAMPLES } from "../../core/domain/audio/g711.js";
import { GOOD_KEY } from "../http/fake-conversations.js";
import { FRONTS, type RunningTransport, startTransport } from "../http/running-transport.js";
import { eventually } from "../support/eventually.js";
import { stays } from "../support/pace.js";
import { toneOf } from "../support/tone-synthesizer.js";

type Message = Readonly<Record<string, unknown>>;

interface Listener {
  readonly socket: WebSocket;
  /** The received messages, and the number of bytes of consecutive audio. */
  readonly received: (Message | Buffer)[];
  readonly closed: Promise<[number, Buffer]>;
  send(message: Message): void;
}

for (const front of FRONTS) {
  describe(`/v1/speak on ${front}`, { concurrency: 1 }, () => {
    let running: RunningTransport;

    before(async () => {
      running = await startTransport(front);
    });
    after(() => running.stop());

    function connect(query: string, protocols: string[] = [], key = GOOD_KEY): Listener {
      const headers = protocols.length > 0 ? {} : { authorization: `Token ${key}` };
      const socket = new WebSocket(`ws://127.0.0.1:${running.port}/v1/speak?${query}`, protocols, {
        headers,
      });
      const received: (Message | Buffer)[] = [];
      socket.on("message", (data: Buffer, isBinary) => {
        const last = received.at(-1);
        if (!isBinary) received.push(JSON.parse(String(data)) as Message);
        else if (last instanceof Buffer) received[received.length - 1] = Buffer.concat([last, data]);
        else received.push(data);
      });
      const closed = new Promise<[number, Buffer]>((resolve) => {
        socket.on("close", (code, reason) => resolve([code, reason]));
      });
      return { socket, received, closed, send: (message) => socket.send(JSON.stringify(message)) };
    }

    async function opened(query = "", protocols: string[] = []): Promise<Listener> {
      const listener = connect(query, protocols);
      await once(listener.socket, "open");
      return listener;
    }

    const typesOf = ({ received }: Listener) =>
      received.map((one) => (Buffer.isBuffer(one) ? "sound" : one["type"]));
    const has = (listener: Listener, type: string) => () => typesOf(listener).includes(type);

    async function refused(query: string, key = GOOD_KEY): Promise<[IncomingMessage, Message]> {
      const { socket } = connect(query, [], key);
      const [, answer] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
      socket.on("error", () => {});
      const body: Buffer[] = [];
      for await (const chunk of answer) body.push(chunk as Buffer);
      socket.terminate();
      return [answer, JSON.parse(Buffer.concat(body).toString()) as Message];
    }

    test("a text in pieces gets metadata first, then audio and Flushed", async () => {
      const listener = await opened("model=aigul");
      for (const text of ["Сә", "лем. Жа", "қсы."]) listener.send({ type: "Speak", text });
      listener.send({ type: "Flush" });
      await eventually("flushed", has(listener, "Flushed"));
      const [metadata, sound, flushed] = listener.received;
      const { request_id, ...rest } = metadata as Message;
      assert.match(String(request_id), /^req_/);
      assert.deepEqual(rest, {
        ...{ type: "Metadata", model_name: "aigul", model_version: "svc-kk-v1", model_uuid: "svc-kk-v1" },
      });
      const pause = 6_000;
      const samples = toneOf("сәлем.").length + pause + toneOf("жақсы.").length;
      assert.equal((sound as Buffer).length, samples * 2);
      assert.deepEqual(flushed, { type: "Flushed", sequence_id: 0 });
      listener.send({ type: "Close" });
      assert.equal((await listener.closed)[0], 1000);
      assert.deepEqual(typesOf(listener), ["Metadata", "sound", "Flushed"]);
    });

    test("audio has the encoding and rate that the client requested", async () => {
      for (const [query, bytesPerSecond] of [
        ["encoding=alaw", 8_000],
        ["encoding=mulaw&sample_rate=16000", 16_000],
        ["encoding=linear16&sample_rate=48000", 96_000],
      ] as const) {
        const listener = await opened(query);
        listener.send({ type: "Speak", text: "Сәлем." });
        listener.send({ type: "Flush" });
        await eventually("flushed", has(listener, "Flushed"));
        const sound = listener.received[1] as Buffer;
        assert.equal(sound.length, (toneOf("сәлем.").length / 24_000) * bytesPerSecond);
        if (query === "encoding=alaw") {
          const middle = ALAW_SAMPLES[sound[sound.length / 2]!]! * 32_768;
          assert.ok(Math.abs(middle - toneOf("л")[0]!) < 64, String(middle));
        }
        listener.socket.terminate();
      }
    });

    test("a clear stops the audio, and the next text follows in order", async () => {
      const listener = await opened();
      listener.send({ type: "Speak", text: "Бұл жерде ждет. Ал бұл естілмейді. " });
      await eventually("sound", has(listener, "sound"));
      listener.send({ type: "Clear" });
      listener.send({ type: "Speak", text: "Иә." });
      listener.send({ type: "Flush" });
      await eventually("flushed", has(listener, "Flushed"));
      assert.deepEqual(typesOf(listener), ["Metadata", "sound", "Cleared", "sound", "Flushed"]);
      assert.equal((listener.received[3] as Buffer).length, toneOf("иә.").length * 2);
      listener.socket.terminate();
    });

    test("keys are accepted as a subprotocol too; wrong keys and options are rejected in Deepgram's shape", async () => {
      const listener = await opened("", ["token", GOOD_KEY]);
      assert.equal(listener.socket.protocol, "token");
      listener.socket.terminate();
      for (const [query, key, status, code, rule] of [
        ["", `sk-svc-${"ab".repeat(24)}`, 401, "INVALID_AUTH", /API key/],
        [
          "model=alloy",
          GOOD_KEY,
          400,
          "Bad Request",
          /^model must be a voice, one of aigul, received "alloy"$/,
        ],
        ["encoding=mp3", GOOD_KEY, 400, "Bad Request", /^encoding must be one of linear16, mulaw, alaw/],
        [
          "sample_rate=44100",
          GOOD_KEY,
          400,
          "Bad Request",
          /^sample_rate of linear16 must be one of 8000, 16000/,
        ],
        ["speed=5", GOOD_KEY, 400, "Bad Request", /^speed must be 0.5 to 2/],
        ["sampel_rate=8000", GOOD_KEY, 400, "Bad Request", /did you mean "sample_rate"/],
        ["callback=x", GOOD_KEY, 400, "Bad Request", /^callback is not supported$/],
      ] as const) {
        const [answer, body] = await refused(query, key);
        assert.equal(answer.statusCode, status, query);
        assert.deepEqual([body["err_code"], body["err_msg"]], [code, body["detail"]], query);
        assert.match(String(body["detail"]), rule);
        assert.equal(answer.headers["dg-request-id"], body["request_id"]);
        assert.ok(answer.headers["dg-error"]);
      }
      const told = connect("model=alloy", ["token", GOOD_KEY]);
      assert.equal((await told.closed)[0], 4400);
      const [error] = told.received as Message[];
      assert.deepEqual([error!["type"], error!["err_msg"]], ["Error", error!["description"]]);
      assert.match(String(error!["request_id"]), /^req_/);
    });

    test("ignored parameters are reported", async () => {
      const { socket } = connect("mip_opt_out=true&bit_rate=48000&tag=x");
      const [answer] = (await once(socket, "upgrade")) as [IncomingMessage];
      assert.equal(answer.headers["x-svc-ignored"], "mip_opt_out,bit_rate,tag");
      socket.terminate();
    });

    test("invalid messages are skipped with a warning, and the tenth closes the socket", async () => {
      const listener = await opened();
      const bad: (string | Buffer)[] = [
        ...[
          "{",
          "null",
          "[]",
          '"Speak"',
          '{"type":"Speak"}',
          '{"type":"Speak","text":5}',
          '{"type":"Shout"}',
        ],
        ...[Buffer.alloc(0), Buffer.alloc(320), JSON.stringify({ type: "Speak", text: "а".repeat(5_001) })],
      ];
      for (const message of bad) listener.socket.send(message);
      const [code, reason] = await listener.closed;
      assert.deepEqual([code, String(reason)], [4400, "too_many_messages"]);
      const types = typesOf(listener);
      assert.deepEqual(types, ["Metadata", ...Array.from({ length: 9 }, () => "Warning"), "Error"]);
      for (const message of listener.received.slice(1, 10) as Message[]) {
        assert.equal(message["warn_msg"], message["description"]);
        assert.equal(message["code"], "bad_message");
      }
    });

    test("a session with invalid messages continues to speak", async () => {
      const listener = await opened();
      listener.socket.send("{");
      listener.send({ type: "KeepAlive" });
      listener.send({ type: "Speak", text: "Иә \ud83d" });
      listener.send({ type: "Flush" });
      await eventually("flushed", has(listener, "Flushed"));
      assert.deepEqual(typesOf(listener), ["Metadata", "Warning", "sound", "Flushed"]);
      listener.socket.terminate();
    });

    test("floods end in a Deepgram-shaped Error, and leave nothing running", async () => {
      for (const unit of ['{"type":"Flush"}', '{"type":"Clear"}', '{"type":"Speak","text":"а"}']) {
        const listener = await opened();
        while (listener.socket.readyState === WebSocket.OPEN) {
          for (let nth = 0; nth < 800; nth++) listener.socket.send(unit);
          await nextTurn();
        }
        const [code, reason] = await listener.closed;
        assert.deepEqual([code, String(reason)], [4400, "too_many_messages"], unit);
        const last = listener.received.at(-1) as Message;
        assert.deepEqual([last["type"], last["code"]], ["Error", "too_many_messages"]);
      }
    });

    test("text beyond the waiting limit closes the socket", async () => {
      const listener = await opened();
      listener.send({ type: "Speak", text: "Бұл жерде ждет. " });
      await eventually("sound", has(listener, "sound"));
      for (let nth = 0; nth < 6; nth++) listener.send({ type: "Speak", text: "сөз ".repeat(1_000) });
      assert.equal((await listener.closed)[0], 4400);
      assert.match(String((listener.received.at(-1) as Message)["description"]), /^at most 20000 characters/);
    });

    test("a client that stops reading is not sent everything", async () => {
      const listener = await opened("sample_rate=48000");
      const { begun } = running.conversations.synthesizer;
      const ended = () => begun.filter((piece) => piece.endsWith("соңы.")).length;
      // The sentence gives half a megabyte of audio, more than a connection's buffers hold.
      const sentence = `${"сөз ".repeat(130)}соңы. `;
      const sentences = 24;
      listener.socket.pause();
      for (let nth = 0; nth < sentences; nth++) listener.send({ type: "Speak", text: sentence });
      listener.send({ type: "Flush" });
      await stays("sentences wait for the client", () => ended() < sentences, 1_000);
      listener.socket.resume();
      await eventually("flushed", has(listener, "Flushed"));
      assert.equal(ended(), sentences);
      listener.socket.terminate();
    });

    test("an upgrade with another path is distinguished", async () => {
      const answer = await fetch(`${running.base}/v1/speak`, {
        headers: { authorization: `Token ${GOOD_KEY}` },
      });
      assert.equal(answer.status, 400);
      const body = (await answer.json()) as Message;
      assert.match(String(body["err_msg"]), /send an upgrade request/);
    });
  });
}
