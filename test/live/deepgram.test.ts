import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { WebSocket } from "ws";
import type { LiveConversation, LiveSink, LiveWishes } from "../../core/ports/conversations.js";
import { GOOD_KEY } from "../http/fake-conversations.js";
import { FRONTS, type RunningTransport, startTransport } from "../http/running-transport.js";

interface Session {
  readonly options: LiveWishes;
  readonly sink: LiveSink;
  readonly heard: string[];
  readonly audio: number[];
}

for (const front of FRONTS) {
  describe(`/v1/listen on ${front}`, { concurrency: 1 }, () => {
    let running: RunningTransport;
    let sessions: Session[] = [];

    before(async () => {
      running = await startTransport(front);
      running.conversations.live = (_caller, options, sink) => {
        const session: Session = { options, sink, heard: [], audio: [] };
        sessions.push(session);
        return recording(session);
      };
    });
    after(() => running.stop());

    async function opened(
      query: string,
      protocols: string[] = [],
      headers: Readonly<Record<string, string>> = tokenHeader(GOOD_KEY),
    ) {
      sessions = [];
      const url = `ws://127.0.0.1:${running.port}/v1/listen?${query}`;
      const socket = new WebSocket(url, protocols, { headers });
      await once(socket, "open");
      return { socket, session: sessions[0]! };
    }

    test("keys and tokens are accepted as Token, as Bearer, or as a subprotocol", async () => {
      const { body } = await fetch(`${running.base}/v1/stream/token`, {
        method: "POST",
        headers: { authorization: `Bearer ${GOOD_KEY}` },
      }).then(async (answer) => ({ body: (await answer.json()) as { token: string } }));
      for (const [protocols, headers] of [
        [[], { authorization: `Token ${GOOD_KEY}` }],
        [[], { authorization: `Bearer ${GOOD_KEY}` }],
        [["token", GOOD_KEY], {}],
        [["bearer", body.token], {}],
      ] as const) {
        const { socket } = await opened("model=nova-3", [...protocols], headers);
        assert.equal(socket.protocol, protocols[0] ?? "");
        socket.terminate();
      }
    });

    test("a wrong key or option is rejected before the upgrade, or in Deepgram's format after it", async () => {
      const url = `ws://127.0.0.1:${running.port}/v1/listen`;
      const refused = new WebSocket(`${url}?diarize=true`, { headers: tokenHeader(GOOD_KEY) });
      const [, answer] = await once(refused, "unexpected-response");
      assert.equal(answer.statusCode, 400);
      refused.on("error", () => {});
      refused.terminate();
      const told = new WebSocket(url, ["token", `sk-svc-${"ab".repeat(24)}`]);
      const [data] = await once(told, "message");
      const { type, variant, description } = JSON.parse(String(data));
      assert.deepEqual([type, variant, description], ["Error", "key_invalid", "missing or invalid API key"]);
      assert.equal((await once(told, "close"))[0], 4401);
    });

    test("partials and finals become results with words, and the end becomes metadata", async () => {
      const { socket, session } = await opened("interim_results=true&vad_events=true&endpointing=300");
      assert.deepEqual(session.options, {
        model: "svc-kk-ru-v2",
        endOfUtteranceMs: 300,
        partials: true,
        words: true,
        hotWords: [],
      });
      const messages = collected(socket);
      session.sink.send(ready());
      session.sink.send({ type: "partial", utterance: 0, text: "сәлем", start: 0.4, end: 0.9, stable: 0 });
      session.sink.send({ type: "partial", utterance: 0, text: "сәлем әл", start: 0.4, end: 1.2, stable: 0 });
      session.sink.send(final(0, "сәлем әлем", 0.4, 1.3));
      const audio = Buffer.from(Int16Array.from({ length: 1_600 }, (_, index) => index).buffer);
      socket.send(audio.subarray(0, 333));
      socket.send(audio.subarray(333));
      socket.send('{"type":"KeepAlive"}');
      socket.send('{"type":"CloseStream"}');
      await once(socket, "close");
      assert.deepEqual(session.heard, ["keepalive", "close"]);
      assert.deepEqual(
        session.audio,
        Array.from({ length: 1_600 }, (_, index) => index),
      );
      const [started, first, second, last, metadata, ...more] = messages;
      assert.deepEqual(more, []);
      assert.deepEqual(started, { type: "SpeechStarted", channel: [0], timestamp: 0.4 });
      assert.deepEqual(
        [first, second, last].map((message) => {
          const { type, is_final, speech_final, channel } = message as Results;
          return [type, is_final, speech_final, channel.alternatives[0]!.transcript];
        }),
        [
          ["Results", false, false, "сәлем"],
          ["Results", false, false, "сәлем әл"],
          ["Results", true, true, "сәлем әлем"],
        ],
      );
      const results = last as Results;
      assert.deepEqual(
        results.channel.alternatives[0]!.words.map(({ word, start, end }) => [word, start, end]),
        [
          ["сәлем", 0.4, 0.8],
          ["әлем", 0.9, 1.3],
        ],
      );
      assert.equal(results.metadata.model_info.name, "svc-kk-ru-v2");
      const { type, duration, sha256 } = metadata as { type: string; duration: number; sha256: string };
      assert.deepEqual([type, duration], ["Metadata", 0.1]);
      assert.equal(sha256, createHash("sha256").update(audio).digest("hex"));
    });

    test("without interim results a client gets only finals, with the one of Finalize marked", async () => {
      const { socket, session } = await opened("");
      assert.equal(session.options.partials, false);
      const messages = collected(socket);
      session.sink.send(ready());
      socket.send(Buffer.alloc(32_000));
      socket.send('{"type":"Finalize"}');
      await until(() => session.heard.includes("finalize"));
      // A pause ended the first one before the client finalized.
      session.sink.send(final(0, "бір", 0.2, 0.6));
      session.sink.send({ ...final(1, "екі", 0.7, 1), from_finalize: true });
      session.sink.finalized!();
      session.sink.send(final(2, "үш", 1.4, 1.9));
      socket.send(new Uint8Array(0));
      await once(socket, "close");
      assert.deepEqual(flagsOf(messages), [
        ["бір", false, true],
        ["екі", true, false],
        ["үш", false, true],
      ]);
    });

    test("a Finalize that ends no utterance gets an empty final, in each channel", async () => {
      for (const [query, channels] of [
        ["", [[0, 1]]],
        [
          "multichannel=true&channels=2",
          [
            [0, 2],
            [1, 2],
          ],
        ],
      ] as const) {
        const { socket } = await opened(query);
        const messages = collected(socket);
        for (const { sink } of sessions) sink.send(ready());
        socket.send(Buffer.alloc(channels.length * 16_000));
        // The second has no new audio: sessions ignore it.
        for (let nth = 0; nth < 2; nth++) socket.send('{"type":"Finalize"}');
        await until(() => sessions.every(({ heard }) => heard.length === 2));
        const [first, ...others] = sessions;
        for (const { sink } of others) sink.send({ ...final(0, "бір", 0.1, 0.4), from_finalize: true });
        for (const { sink } of [first!, ...others]) sink.finalized!();
        socket.send('{"type":"CloseStream"}');
        await once(socket, "close");
        const results = messages.filter(({ type }) => type === "Results") as (Results & {
          readonly channel_index: readonly number[];
          readonly start: number;
          readonly duration: number;
        })[];
        assert.deepEqual(
          flagsOf(results).toSorted(),
          [...others.map(() => ["бір", true, false] as const), ["", true, false] as const].toSorted(),
        );
        assert.deepEqual(results.map(({ channel_index }) => channel_index).toSorted(), channels);
        const empty = results.find(({ channel }) => channel.alternatives[0]!.transcript === "")!;
        assert.deepEqual([empty.start, empty.duration, empty.channel_index[0]], [0.5, 0, 0]);
        assert.deepEqual(empty.channel.alternatives, [{ transcript: "", confidence: 0, words: [] }]);
      }
    });

    test("finals are readable text with one word per displayed word", async () => {
      const said = ["бағасы", "екі", "мың", "теңге"].map((word, nth) => {
        return { word, start: nth, end: nth + 0.5, confidence: 0.9 - nth / 10 };
      });
      const shown = [
        { word: "Бағасы", start: 0, end: 0.5, spoken: [0, 1] as const },
        { word: "2000", start: 1, end: 2.5, spoken: [1, 3] as const },
        { word: "теңге.", start: 3, end: 3.5, spoken: [3, 4] as const },
      ];
      const text = said.map(({ word }) => word).join(" ");
      const message = { type: "final", utterance: 0, text, start: 0, end: 3.5, words: said } as const;
      const words = [
        { word: "бағасы", start: 0, end: 0.5, confidence: 0.9, punctuated_word: "Бағасы" },
        { word: "2000", start: 1, end: 2.5, confidence: 0.7, punctuated_word: "2000" },
        { word: "теңге", start: 3, end: 3.5, confidence: 0.6, punctuated_word: "теңге." },
      ];
      for (const [query, transcript, expected] of [
        ["smart_format=true", "Бағасы 2000 теңге.", words],
        [
          "numerals=true",
          "бағасы 2000 теңге",
          words.map((word) => ({ ...word, punctuated_word: word.word })),
        ],
      ] as const) {
        const { socket, session } = await opened(query);
        assert.deepEqual(session.options.reading, { display: true, numerals: "auto", redact: [] });
        const messages = collected(socket);
        session.sink.send(ready());
        const shownText = shown.map(({ word }) => word).join(" ");
        session.sink.send({
          ...message,
          display_text: shownText,
          display_before: "? ",
          display_words: shown,
        });
        socket.send('{"type":"CloseStream"}');
        await once(socket, "close");
        const [alternative] = (messages[0] as Results).channel.alternatives;
        assert.deepEqual([alternative!.transcript, alternative!.words], [transcript, expected], query);
      }
    });

    test("the end of an utterance is sent once the silence is long enough", async () => {
      const { socket, session } = await opened("utterance_end_ms=1000");
      const messages = collected(socket);
      session.sink.send(ready());
      socket.send(Buffer.alloc(2 * 16_000));
      await until(() => session.audio.length === 16_000);
      session.sink.send(final(0, "бір", 0.2, 0.6));
      for (let half = 0; half < 6; half++) socket.send(Buffer.alloc(16_000));
      await until(() => session.audio.length === 64_000);
      session.sink.send({ type: "partial", utterance: 1, text: "е", start: 3.5, end: 3.9, stable: 0 });
      socket.send('{"type":"CloseStream"}');
      await once(socket, "close");
      const ends = messages.filter((message) => message.type === "UtteranceEnd");
      assert.deepEqual(ends, [{ type: "UtteranceEnd", channel: [0, 1], last_word_end: 0.6 }]);
    });

    test("telephone audio is accepted at 8 kHz", async () => {
      const { socket, session } = await opened("encoding=mulaw");
      socket.send(Buffer.alloc(8_000, 0xff));
      socket.send('{"type":"CloseStream"}');
      await once(socket, "close");
      assert.equal(session.audio.length, 16_000);
      assert.ok(session.audio.every((sample) => sample === 0));
    });
  });
}

interface Results {
  readonly type: string;
  readonly is_final: boolean;
  readonly speech_final: boolean;
  readonly from_finalize: boolean;
  readonly channel: {
    readonly alternatives: {
      readonly transcript: string;
      readonly words: { readonly word: string; readonly start: number; readonly end: number }[];
    }[];
  };
  readonly metadata: { readonly model_info: { readonly name: string } };
}

function flagsOf(messages: readonly { readonly type: string }[]) {
  const results = messages.filter(({ type }) => type === "Results");
  return results.map((message) => {
    const { channel, from_finalize, speech_final } = message as Results;
    return [channel.alternatives[0]!.transcript, from_finalize, speech_final] as const;
  });
}

function tokenHeader(key: string) {
  return { authorization: `Token ${key}` };
}

function collected(socket: WebSocket): { readonly type: string }[] {
  const messages: { readonly type: string }[] = [];
  socket.on("message", (data) => messages.push(JSON.parse(String(data))));
  return messages;
}

async function until(isThere: () => boolean): Promise<void> {
  while (!isThere()) await new Promise(setImmediate);
}

function ready() {
  return {
    type: "ready",
    session_id: "ses_1",
    request_id: "req_1",
    model: "svc-kk-ru-v2",
    sample_rate: 16_000,
    eou_ms: 200,
  } as const;
}

function final(utterance: number, text: string, start: number, end: number) {
  const words = text.split(" ").map((word, index, all) => ({
    word,
    start: index === 0 ? start : 0.9,
    end: index === all.length - 1 ? end : 0.8,
    confidence: 0.9,
  }));
  return { type: "final", utterance, text, start, end, words } as const;
}

/** A session that records its calls. */
function recording({ heard, audio, sink }: Session): LiveConversation {
  return {
    audio(bytes) {
      const samples = new Int16Array(bytes.slice().buffer);
      for (const sample of samples) audio.push(sample);
    },
    finalize: () => void heard.push("finalize"),
    close() {
      heard.push("close");
      sink.send({ type: "done", audio_seconds: audio.length / 16_000, credits_charged: 1 });
      sink.close(1000, "done");
    },
    keepalive: () => void heard.push("keepalive"),
    badMessage: (detail) => void heard.push(detail),
    disconnected() {},
    goingAway() {},
    unauthorized() {},
  };
}
