import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { REALTIME_SERVER_EVENT } from "../../core/protocol/realtime-events.js";
import { append } from "../support/realtime-events.js";
import {
  CLEAR,
  COMMIT,
  describeRealtime,
  final,
  MANUAL,
  PIECE,
  partial,
  sessionOf,
  TRANSCRIPTION,
  update,
  withoutIds,
} from "./realtime-sessions.js";

describeRealtime("/v1/realtime", ({ opened }) => {
  test("an utterance is a turn: started, stopped, committed, added, done, completed", async () => {
    const { socket, events, started } = await opened();
    socket.send(append(PIECE));
    const { options, sink } = await started();
    assert.deepEqual(options, {
      model: "svc-kk-ru-v2",
      endOfUtteranceMs: 500,
      endpointing: "fixed",
      partials: true,
      words: false,
      hotWords: [],
    });
    sink.send(partial(0, "сәлем", 0));
    sink.send(partial(0, "сәлем әл", 6));
    sink.send(partial(0, "сәлем әле", 6));
    sink.send(final(0, "сәлем әлем", 0.4, 1.3));
    sink.send(final(1, "жоқ", 2, 2.5));
    await events.seen(`${TRANSCRIPTION}.completed`, 2);
    const shown = events.all.map(({ type, delta, transcript, usage, audio_start_ms, audio_end_ms }) => {
      const name = type.replace(`${TRANSCRIPTION}.`, "").replace("input_audio_buffer.", "");
      const values = [delta, transcript, usage?.seconds, audio_start_ms, audio_end_ms];
      return [name, ...values.filter((value) => value !== undefined)];
    });
    assert.deepEqual(shown, [
      ["session.created"],
      ["speech_started", 400],
      ["delta", "сәлем "],
      ["speech_stopped", 1_300],
      ["committed"],
      ["conversation.item.added"],
      ["conversation.item.done"],
      ["delta", "әлем"],
      ["completed", "сәлем әлем", 1.3],
      ["speech_started", 2_000],
      ["speech_stopped", 2_500],
      ["committed"],
      ["conversation.item.added"],
      ["conversation.item.done"],
      ["delta", "жоқ"],
      ["completed", "жоқ", 1.2],
    ]);
    for (const event of events.all) REALTIME_SERVER_EVENT.parse(event);
    const [first, second] = events.of("input_audio_buffer.committed");
    assert.deepEqual([first!["previous_item_id"], second!["previous_item_id"]], [null, first!["item_id"]]);
    socket.terminate();
  });

  for (const [form, headers] of [
    ["general", {}],
    ["beta", { "openai-beta": "realtime=v1" }],
  ] as const) {
    test(`the ${form} form is the recorded one, member by member`, async () => {
      const { socket, events, started, handled } = await opened("intent=transcription", headers);
      const type = form === "beta" ? "transcription_session.update" : "session.update";
      const session =
        form === "beta"
          ? { input_audio_format: "pcm16", input_audio_transcription: { model: "gpt-4o-transcribe" } }
          : sessionOf({ type: "transcription", audio: { input: { turn_detection: {} } } }).session;
      socket.send(JSON.stringify({ type, session }));
      for (let nth = 0; nth < 4; nth++) socket.send(append(PIECE));
      const { sink } = await started();
      sink.send(partial(0, "сәлем", 5));
      sink.send(final(0, "сәлем", 0.1, 0.2));
      sink.send(partial(1, "әлем", 4));
      socket.send(COMMIT);
      await handled();
      sink.send(final(1, "әлем", 0.2, 0.4));
      sink.finalized?.();
      socket.send(append(PIECE));
      socket.send(CLEAR);
      socket.send('{"type":"response.create","event_id":"mine"}');
      await events.seen("error");
      const recorded = await readFile(`test/fixtures/realtime/${form}.jsonl`, "utf8");
      assert.equal(withoutIds(events.all), recorded);
      socket.terminate();
    });
  }

  test("deltas never contradict each other: a transcript that differs is sent in full", async () => {
    const { socket, events, started } = await opened();
    socket.send(append(PIECE));
    const { sink } = await started();
    sink.send(partial(0, "салем", 5));
    sink.send(final(0, "сәлем", 0.4, 1.3));
    const { transcript } = await events.seen(`${TRANSCRIPTION}.completed`);
    assert.equal(transcript, "сәлем");
    assert.deepEqual(
      events.of(`${TRANSCRIPTION}.delta`).map(({ delta }) => delta),
      ["салем"],
    );
    socket.terminate();
  });

  test("without turn detection only commits end turns, and a clear discards one", async () => {
    const { socket, events, started, handled } = await opened();
    socket.send(MANUAL);
    for (let nth = 0; nth < 3; nth++) socket.send(append(PIECE));
    const { options, sink, heard } = await started();
    assert.equal(options.endOfUtteranceMs, 2_000);
    sink.send(final(0, "бір", 0.1, 0.2));
    sink.send(partial(1, "екі", 3));
    socket.send(COMMIT);
    await events.seen("conversation.item.done");
    assert.ok(!events.types.includes(`${TRANSCRIPTION}.completed`), "the session has not reached the commit");
    socket.send(append(PIECE));
    socket.send(CLEAR);
    await events.seen("input_audio_buffer.cleared");
    socket.send(append(PIECE));
    await handled();
    assert.deepEqual(heard, ["finalize", "finalize"]);
    sink.send(final(1, "екі", 0.2, 0.3));
    sink.finalized?.();
    sink.send(partial(2, "үш", 2));
    sink.send(final(2, "үш", 0.3, 0.4));
    sink.finalized?.();
    sink.send(partial(3, "төрт", 4));
    socket.send(COMMIT);
    await events.seen("input_audio_buffer.committed", 2);
    sink.send(final(3, "төрт", 0.4, 0.5));
    sink.finalized?.();
    await events.seen(`${TRANSCRIPTION}.completed`, 2);
    const completed = events.of(`${TRANSCRIPTION}.completed`);
    assert.deepEqual(
      completed.map(({ transcript, usage }) => [transcript, usage.seconds]),
      [
        ["бір екі", 0.3],
        ["төрт", 0.1],
      ],
    );
    assert.deepEqual(
      completed.map(({ item_id }) => item_id),
      events.of("input_audio_buffer.committed").map(({ item_id }) => item_id),
    );
    assert.deepEqual(
      events.of(`${TRANSCRIPTION}.delta`).map(({ delta }) => delta),
      ["бір", " екі", "төрт"],
    );
    socket.terminate();
  });

  test("a commit or clear of an empty buffer reaches no session", async () => {
    const { socket, events, handled, sessions } = await opened();
    socket.send(CLEAR);
    socket.send(COMMIT);
    socket.send(append(new Uint8Array(4_798)));
    socket.send(COMMIT);
    const { error } = await events.seen("error", 2);
    assert.equal(error.code, "input_audio_buffer_commit_empty");
    assert.match(error.message, /needs 100 ms of audio, received 99.96 ms/);
    socket.send(append(new Uint8Array(2)));
    socket.send(COMMIT);
    socket.send(CLEAR);
    await handled();
    assert.deepEqual(sessions[0]!.heard, ["finalize"]);
    socket.terminate();
  });

  test("G.711 and PCM are resampled to the session's rate, however they are chunked", async () => {
    for (const [format, bytesPerSecond] of [
      [{ type: "audio/pcm", rate: 24_000 }, 48_000],
      [{ type: "audio/pcmu" }, 8_000],
      [{ type: "audio/pcma" }, 8_000],
    ] as const) {
      const { socket, handled, sessions } = await opened();
      socket.send(update({ audio: { input: { format } } }));
      for (let bytes = 0; bytes < bytesPerSecond; bytes += 777) {
        socket.send(append(new Uint8Array(Math.min(777, bytesPerSecond - bytes))));
      }
      await handled();
      assert.ok(Math.abs(sessions[0]!.samples - 16_000) < 100, `${format.type} ${sessions[0]!.samples}`);
      socket.terminate();
    }
  });

  test("the beta's forms are accepted, and answered in its form", async () => {
    const { socket, events } = await opened("intent=transcription", { "openai-beta": "realtime=v1" });
    const { session } = await events.seen("transcription_session.created");
    assert.equal(session.input_audio_format, "pcm16");
    const beta = {
      input_audio_format: "g711_ulaw",
      input_audio_transcription: { model: "whisper-1", prompt: "x", language: "kk" },
      turn_detection: { type: "server_vad", threshold: 0.4, silence_duration_ms: 50 },
    };
    socket.send(JSON.stringify({ type: "transcription_session.update", session: beta }));
    const updated = (await events.seen("transcription_session.updated"))["session"];
    assert.equal(updated.input_audio_format, "g711_ulaw");
    assert.deepEqual(updated.turn_detection, {
      type: "server_vad",
      threshold: 0.4,
      prefix_padding_ms: 300,
      silence_duration_ms: 100,
    });
    socket.terminate();
  });

  test("models whose clients commit have no turn detection unless it is requested", async () => {
    const detectionOf = async (session: object, query = "") => {
      const { socket, events } = await opened(query);
      socket.send(update(session));
      const { audio } = (await events.seen("session.updated"))["session"];
      socket.terminate();
      return audio.input.turn_detection?.type ?? null;
    };
    const named = (model: string) => ({ audio: { input: { transcription: { model } } } });
    assert.equal(await detectionOf(named("gpt-realtime-whisper")), null);
    assert.equal(await detectionOf({}, "model=gpt-live-transcribe"), null);
    assert.equal(await detectionOf(named("gpt-4o-transcribe")), "server_vad");
    const both = { transcription: { model: "gpt-realtime-whisper" }, turn_detection: {} };
    assert.equal(await detectionOf({ audio: { input: both } }), "server_vad");
  });

  test("invalid events get an error with their id, and change nothing", async () => {
    const { socket, events } = await opened();
    const wrong: readonly (readonly [object, param: string, RegExp])[] = [
      [{ type: "session.update" }, "session", /session is invalid/],
      [sessionOf({ type: "realtime" }), "session.type", /must be transcription/],
      [
        sessionOf({ audio: { input: { format: { type: "audio/pcm", rate: 16_000 } } } }),
        "session.audio.input.format.rate",
        /must be 24000, received 16000/,
      ],
      [
        sessionOf({ audio: { input: { turn_detection: { type: "loud_vad" } } } }),
        "session.audio.input.turn_detection.type",
        /is invalid/,
      ],
      [
        sessionOf({ input_audio_format: "mp3" }),
        "session.input_audio_format",
        /session\.input_audio_format is invalid/,
      ],
      [
        sessionOf({ audio: { input: { transcription: { model: "nova-3" } } } }),
        "transcription.model",
        /must be one of svc-kk-ru-v2/,
      ],
      [{ type: "input_audio_buffer.append", audio: "*" }, "audio", /must be base64/],
      [{ type: "input_audio_buffer.append" }, "audio", /must be base64/],
      [{}, "type", /type must be one of .*, received ""/],
      [{ type: 5 }, "type", /type must be one of .*, received ""/],
      [{ type: "response.create" }, "type", /received "response.create"; sessions here only transcribe/],
    ];
    for (const [index, [event, param, message]] of wrong.entries()) {
      socket.send(JSON.stringify({ ...event, event_id: `mine_${index}` }));
      const { error } = await events.seen("error", index + 1);
      assert.equal(error.type, "invalid_request_error");
      assert.deepEqual([error.param, error.event_id], [param, `mine_${index}`]);
      assert.match(error.message, message);
    }
    socket.send(update({}));
    const [created] = events.of("session.created");
    assert.deepEqual((await events.seen("session.updated"))["session"], created!["session"]);
    for (const event of events.all) REALTIME_SERVER_EVENT.parse(event);
    socket.terminate();
  });

  test("options of the session are fixed after the first audio, the rest may change", async () => {
    const { socket, events, handled } = await opened();
    socket.send(append(PIECE));
    socket.send(update({ audio: { input: { turn_detection: { silence_duration_ms: 900 } } } }));
    const { error } = await events.seen("error");
    assert.match(error.message, /cannot change after the first audio; open another socket/);
    socket.send(update({ audio: { input: { format: { type: "audio/pcmu" } } } }));
    await handled();
    const { audio } = events.of("session.updated").at(-1)!["session"];
    assert.equal(audio.input.format.type, "audio/pcmu");
    assert.equal(audio.input.turn_detection.silence_duration_ms, 500);
    socket.terminate();
  });

  test("keywords and log probabilities reach the session and the transcript", async () => {
    const { socket, events, started } = await opened();
    const transcription = { model: "gpt-4o-transcribe", keywords: ["Сәлем"] };
    const include = ["item.input_audio_transcription.logprobs"];
    socket.send(update({ audio: { input: { transcription } }, include }));
    socket.send(append(PIECE));
    const { options, sink } = await started();
    assert.deepEqual(options.hotWords, [{ text: "сәлем", characterScore: 1 }]);
    sink.send({
      ...final(0, "айнұр", 0, 1),
      words: [{ word: "айнұр", start: 0, end: 1, confidence: 0.25 }],
    });
    const { logprobs } = await events.seen(`${TRANSCRIPTION}.completed`);
    assert.deepEqual(logprobs, [{ token: "айнұр", logprob: -1.3863, bytes: [...Buffer.from("айнұр")] }]);
    socket.terminate();
  });
});
