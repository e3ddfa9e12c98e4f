import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { after, before, describe, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { WebSocket } from "ws";
import { ALAW_SAMPLES } from "../../core/domain/audio/g711.js";
import type { TtsLiveServerMessage } from "../../core/protocol/tts-live-messages.js";
import { GOOD_KEY } from "../http/fake-conversations.js";
import { FRONTS, type RunningTransport, startTransport } from "../http/running-transport.js";
import { eventually } from "../support/eventually.js";
import { toneOf } from "../support/tone-synthesizer.js";

type Audio = Extract<TtsLiveServerMessage, { readonly type: "audio" }>;
interface Sound extends Audio {
  readonly pcm: Buffer;
}
type Received = Exclude<TtsLiveServerMessage, Audio> | Sound;

/** 250 ms of silence between sentences, at 24 kHz. */
const PAUSE_SAMPLES = 6_000;

class Listener {
  readonly socket: WebSocket;
  readonly received: Received[] = [];
  readonly closed: Promise<[number, string]>;
  #described: Audio | null = null;

  constructor(url: string, protocols: string[], headers: Record<string, string>) {
    this.socket = new WebSocket(url, protocols, { headers });
    this.socket.on("message", (data: Buffer, isBinary) => {
      if (isBinary) this.#sound(data);
      else this.#message(JSON.parse(String(data)) as TtsLiveServerMessage);
    });
    this.closed = new Promise((resolve) => {
      this.socket.on("close", (code, reason) => resolve([code, String(reason)]));
    });
  }

  send(message: Readonly<Record<string, unknown>>): void {
    this.socket.send(JSON.stringify(message));
  }

  /** The types of the messages in order. Audio is listed with its turn and sentence, once per sentence. */
  get types(): string[] {
    const types = this.received.map((one) =>
      one.type === "audio"
        ? `audio ${one.turn}.${one.sentence}`
        : "turn" in one
          ? `${one.type} ${one.turn}`
          : one.type,
    );
    return types.filter((type, at) => type !== types[at - 1]);
  }

  of<Type extends Received["type"]>(type: Type): Extract<Received, { readonly type: Type }>[] {
    return this.received.filter((one) => one.type === type) as Extract<Received, { readonly type: Type }>[];
  }

  pcmOf(turn: number): Buffer {
    return Buffer.concat(this.of("audio").flatMap((one) => (one.turn === turn ? [one.pcm] : [])));
  }

  #message(message: TtsLiveServerMessage): void {
    assert.equal(this.#described, null, "each description is followed by its samples");
    if (message.type !== "audio") this.received.push(message);
    else if (message.bytes === 0) this.received.push({ ...message, pcm: Buffer.alloc(0) });
    else this.#described = message;
  }

  #sound(pcm: Buffer): void {
    assert.equal(this.#described?.bytes, pcm.length);
    this.received.push({ ...this.#described!, pcm });
    this.#described = null;
  }
}

for (const front of FRONTS) {
  describe(`/v1/tts/live on ${front}`, { concurrency: 1 }, () => {
    let running: RunningTransport;

    before(async () => {
      running = await startTransport(front);
    });
    after(() => running.stop());

    function connect(query = "", protocols: string[] = [], key = GOOD_KEY): Listener {
      const headers: Record<string, string> = protocols.length > 0 ? {} : { authorization: `Bearer ${key}` };
      return new Listener(`ws://127.0.0.1:${running.port}/v1/tts/live?${query}`, protocols, headers);
    }

    async function opened(query = "", protocols: string[] = []): Promise<Listener> {
      const listener = connect(query, protocols);
      await once(listener.socket, "open");
      return listener;
    }

    test("a text in pieces is spoken sentence by sentence, each described, and `done` states the charge", async () => {
      const listener = await opened("voice=aigul");
      for (const text of ["Сә", "лем. Жа", "қсы."]) listener.send({ type: "text", text });
      listener.send({ type: "close" });
      assert.deepEqual(await listener.closed, [1000, "done"]);
      assert.deepEqual(listener.types, ["ready", "audio 0.0", "audio 0.1", "flushed 0", "done"]);
      const [ready] = listener.of("ready");
      assert.match(ready!.session_id, /^req_/);
      assert.deepEqual(
        [ready!.model, ready!.voice, ready!.encoding, ready!.sample_rate],
        ["svc-kk-v1", "aigul", "linear16", 24_000],
      );
      const samples = toneOf("сәлем.").length + PAUSE_SAMPLES + toneOf("жақсы.").length;
      assert.equal(listener.pcmOf(0).length, samples * 2);
      const firsts = listener.of("audio").filter(({ text }) => text !== undefined);
      assert.deepEqual(
        firsts.map(({ text, from, start }) => [text, from, start]),
        [
          ["Сәлем. ", 0, 0],
          ["Жақсы.", 7, (toneOf("сәлем.").length + PAUSE_SAMPLES) / 24_000],
        ],
      );
      assert.deepEqual(
        listener
          .of("audio")
          .filter(({ last }) => last)
          .map(({ sentence }) => sentence),
        [0, 1],
      );
      const delivered = { audio_seconds: samples / 24_000, characters: 13, credits_charged: 6 };
      assert.deepEqual(listener.of("flushed"), [{ type: "flushed", turn: 0, ...delivered }]);
      assert.deepEqual(listener.of("done"), [{ type: "done", ...delivered }]);
    });

    test("audio has the requested encoding and rate, in exact order", async () => {
      for (const [query, bytesPerSecond] of [
        ["encoding=alaw", 8_000],
        ["encoding=mulaw&sample_rate=16000", 16_000],
        ["sample_rate=48000", 96_000],
      ] as const) {
        const listener = await opened(query);
        listener.send({ type: "text", text: "Сәлем." });
        listener.send({ type: "close" });
        await listener.closed;
        const pcm = listener.pcmOf(0);
        assert.equal(pcm.length, (toneOf("сәлем.").length / 24_000) * bytesPerSecond, query);
        if (query !== "encoding=alaw") continue;
        const middle = ALAW_SAMPLES[pcm[pcm.length / 2]!]! * 32_768;
        assert.ok(Math.abs(middle - toneOf("л")[0]!) < 64, String(middle));
      }
    });

    test("a cancel drops the turn and those after it, and the audio of the next turn is recognizable by its number", async () => {
      const listener = await opened();
      listener.send({ type: "text", text: "Бұл жерде ждет. " });
      listener.send({ type: "flush" });
      listener.send({ type: "text", text: "Бұл естілмейді. " });
      listener.send({ type: "flush" });
      await eventually("audio", () => listener.of("audio").length > 0);
      listener.send({ type: "cancel", played_seconds: 0.05 });
      listener.send({ type: "text", text: "Иә." });
      listener.send({ type: "close" });
      assert.deepEqual(await listener.closed, [1000, "done"]);
      assert.deepEqual(listener.types, [
        "ready",
        "audio 0.0",
        "cancelled 2",
        "audio 3.1",
        "flushed 3",
        "done",
      ]);
      const [cancelled] = listener.of("cancelled");
      const sent = listener.pcmOf(0).length / 2 / 24_000;
      assert.deepEqual(cancelled, {
        ...{ type: "cancelled", turn: 2, audio_seconds: sent, characters: 16, credits_charged: 7 },
      });
      assert.deepEqual(
        [listener.of("done")[0]!.characters, listener.of("done")[0]!.credits_charged],
        [19, 9],
      );
    });

    test("a cancel after close drops what remains, and the session ends", async () => {
      const listener = await opened();
      listener.send({ type: "text", text: "Бұл жерде ждет. Ал бұл естілмейді." });
      await eventually("audio", () => listener.of("audio").length > 0);
      listener.send({ type: "close" });
      listener.send({ type: "cancel" });
      assert.deepEqual(await listener.closed, [1000, "done"]);
      assert.deepEqual(listener.types, ["ready", "audio 0.0", "cancelled 1", "done"]);
    });

    test("keys are accepted in the same ways as on /v1/stream; wrong keys and options are rejected", async () => {
      const listener = await opened("", ["svc-bearer", GOOD_KEY]);
      assert.equal(listener.socket.protocol, "svc-bearer");
      listener.socket.terminate();
      for (const [query, key, status, rule] of [
        ["", `sk-svc-${"ab".repeat(24)}`, 401, /API key/],
        ["voice=alloy", GOOD_KEY, 404, /^voice must be one of aigul, received "alloy"$/],
        ["model=none", GOOD_KEY, 404, /none/],
        ["encoding=mp3", GOOD_KEY, 400, /^encoding must be one of linear16, mulaw, alaw/],
        ["sample_rate=44100", GOOD_KEY, 400, /^sample_rate of linear16 must be one of 8000, 16000/],
        ["speed=5", GOOD_KEY, 400, /^speed must be 0.5 to 2/],
        ["nfe=3", GOOD_KEY, 400, /^nfe must be an integer from 4 to 64, received "?3"?/],
        ["seed=-1", GOOD_KEY, 400, /^seed must be an integer from 0 to 4294967295, received "-1"$/],
        ["room_tone=maybe", GOOD_KEY, 400, /^room_tone must be true, false, 1 or 0, received "maybe"$/],
        ["sampel_rate=8000", GOOD_KEY, 400, /did you mean "sample_rate"/],
      ] as const) {
        const { socket } = connect(query, [], key);
        const [, answer] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
        socket.on("error", () => {});
        const body: Buffer[] = [];
        for await (const chunk of answer) body.push(chunk as Buffer);
        socket.terminate();
        assert.equal(answer.statusCode, status, query);
        assert.match(String(JSON.parse(String(Buffer.concat(body))).detail), rule);
      }
      const told = connect("voice=alloy", ["svc-bearer", GOOD_KEY]);
      assert.deepEqual(await told.closed, [4400, "unknown_voice"]);
      assert.deepEqual(told.types, ["error"]);
    });

    test("invalid messages are skipped with a warning, and the tenth closes the socket", async () => {
      const listener = await opened();
      const bad: (string | Buffer)[] = [
        ...["{", "null", "[]", '"text"', '{"type":"text"}', '{"type":"text","text":5}', '{"type":"shout"}'],
        ...['{"type":"cancel","played_seconds":-1}', Buffer.alloc(320)],
        JSON.stringify({ type: "text", text: "а".repeat(5_001) }),
      ];
      for (const message of bad) listener.socket.send(message);
      assert.deepEqual(await listener.closed, [4400, "too_many_messages"]);
      assert.deepEqual(
        listener.received.map(({ type }) => type),
        ["ready", ...Array.from({ length: 9 }, () => "warning"), "error"],
      );
    });

    test("pronunciations of the first message apply to all of the text, which is charged as written", async () => {
      const listener = await opened();
      const pronunciations = [
        { word: "GPT", say: "джи пи ти" },
        { word: "Kaspi Bank", say: "каспи банк" },
      ];
      const { begun } = running.conversations.synthesizer;
      const before = begun.length;
      listener.send({ type: "options", pronunciations });
      for (const text of ["GP", "T-ге. Kas", "pi bank! Тағы GPT."]) listener.send({ type: "text", text });
      listener.send({ type: "close" });
      assert.deepEqual(await listener.closed, [1000, "done"]);
      assert.deepEqual(begun.slice(before), ["джи пи тиге.", "каспи банк!", "тағы джи пи ти."]);
      assert.equal(listener.of("done")[0]!.characters, 29);
    });

    test("invalid or late options end the session with the rule that they break", async () => {
      const valid = [{ word: "GPT", say: "джи пи ти" }];
      const options = (pronunciations: unknown, more = {}) => ({ type: "options", pronunciations, ...more });
      const late = /^options must be sent once, before the first text: open another socket to change them$/;
      for (const [messages, name, rule] of [
        [[options("GPT")], "invalid_request", /^pronunciations must be a list of/],
        [
          [options([{ word: "", say: "а" }])],
          "invalid_request",
          /^pronunciations\[0\]\.word must be 1 to 60 characters, received 0$/,
        ],
        [[options([{ word: "a" }])], "invalid_request", /^pronunciations\[0\]\.say must be a string/],
        [[options(valid, { voice: "aigul" })], "unknown_parameter", /^unknown field "voice"/],
        [[options(valid), options(valid)], "invalid_request", late],
        [[{ type: "text", text: "Сәлем. " }, options(valid)], "invalid_request", late],
      ] as const) {
        const listener = await opened();
        for (const message of messages) listener.send(message);
        assert.deepEqual(await listener.closed, [4400, name]);
        assert.match(listener.of("error")[0]!.detail, rule);
      }
    });

    test("floods end in an error, and leave nothing running", async () => {
      for (const unit of ['{"type":"flush"}', '{"type":"cancel"}', '{"type":"text","text":"а"}']) {
        const listener = await opened();
        while (listener.socket.readyState === WebSocket.OPEN) {
          for (let nth = 0; nth < 800; nth++) listener.socket.send(unit);
          await nextTurn();
        }
        assert.deepEqual(await listener.closed, [4400, "too_many_messages"], unit);
        assert.equal(listener.received.at(-1)?.type, "error");
      }
    });

    test("a stopping service announces the stop, and finishes what was flushed", async () => {
      const stopping = await startTransport(front);
      const listener = new Listener(`ws://127.0.0.1:${stopping.port}/v1/tts/live`, [], {
        authorization: `Bearer ${GOOD_KEY}`,
      });
      await once(listener.socket, "open");
      listener.send({ type: "text", text: "Бұл жерде ждет. " });
      listener.send({ type: "flush" });
      await eventually("audio", () => listener.of("audio").length > 0);
      const drained = stopping.transport.drain(60_000);
      await eventually("announced", () => listener.of("going_away").length === 1);
      stopping.conversations.synthesizer.go();
      assert.equal((await listener.closed)[0], 1012);
      assert.deepEqual(listener.types, [
        "ready",
        "audio 0.0",
        "going_away",
        "audio 0.0",
        "flushed 0",
        "done",
      ]);
      await drained;
      await stopping.stop();
    });
  });
}
