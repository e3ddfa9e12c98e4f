import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../../core/domain/errors.js";
import type { StreamServerMessage } from "../../../core/protocol/stream-messages.js";
import { RecordingSink } from "../../support/fake-live.js";
import { FreeMeter } from "../../support/free-meter.js";
import * as fc from "../../support/properties.js";
import {
  assertEnded,
  bytesOf,
  IDLE_MS,
  OPTIONS,
  type Opened,
  opened,
  openedCold,
  RATE_HZ,
  typesOf,
} from "./opened-session.js";

test("the same bytes give the same samples, however they are chunked", (t) => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 200 }),
      fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 100 }),
      (bytes, sizes) => {
        const { session, decoder } = opened(t);
        let offset = 0;
        for (const size of [...sizes, bytes.length]) {
          // Use a view into larger memory at any offset, as sockets provide it.
          session.audio(bytes.subarray(offset, offset + size));
          offset = Math.min(bytes.length, offset + size);
        }
        const whole = bytes.slice(0, bytes.length - (bytes.length % 2));
        assert.deepEqual(decoder.samples, [...new Int16Array(whole.buffer)]);
        session.disconnected();
        t.mock.restoreAll();
      },
    ),
    { numRuns: 300 },
  );
});

test("the sink is notified of each finalize after its finals, and of none after the end", (t) => {
  const heard: string[] = [];
  class OrderedSink extends RecordingSink {
    override send(message: StreamServerMessage): void {
      heard.push(message.type);
    }
    finalized(): void {
      heard.push("finalized");
    }
  }
  const { session, decoder } = opened(t, OPTIONS, new OrderedSink());
  decoder.emit({ type: "ready" });
  heard.length = 0;
  decoder.emit({ type: "final", utterance: 0, text: "бір", startSample: 0, endSample: 640, words: [] });
  decoder.emit({ type: "finalized" });
  session.disconnected();
  decoder.emit({ type: "finalized" });
  assert.deepEqual(heard, ["final", "finalized"]);
});

test("a session passes its options on and announces itself when the decoder is ready", (t) => {
  const { decoder, sink } = opened(t);
  assert.deepEqual(decoder.options, {
    modelId: "m-1",
    endOfUtteranceMs: 400,
    wantsPartials: true,
    hotWords: [],
  });
  decoder.emit({ type: "ready" });
  assert.deepEqual(sink.messages, [
    {
      type: "ready",
      session_id: "s-1",
      request_id: "r-1",
      model: "m-1",
      sample_rate: RATE_HZ,
      eou_ms: 400,
    },
  ]);
});

for (const words of [true, false]) {
  test(`finals have times in seconds to the millisecond, ${words ? "with" : "without"} words, as the client requested`, (t) => {
    const { decoder, sink } = opened(t, { ...OPTIONS, words });
    const timed = [{ word: "бір", start: 0.0404, end: 0.079_999_999, confidence: 0.971_26 }];
    decoder.emit({ type: "partial", utterance: 3, text: "бі", startSample: 643, endSample: 957 });
    decoder.emit({
      type: "final",
      utterance: 3,
      text: "бір",
      startSample: 643,
      endSample: 1_281,
      words: timed,
    });
    const final = { type: "final", utterance: 3, text: "бір", start: 0.04, end: 0.08 };
    assert.deepEqual(sink.messages, [
      { type: "partial", utterance: 3, text: "бі", start: 0.04, end: 0.06, stable: 2 },
      words ? { ...final, words: [{ word: "бір", start: 0.04, end: 0.08, confidence: 0.9713 }] } : final,
    ]);
  });
}

test("a final says whether a finalize ended its utterance", (t) => {
  const { decoder, sink } = opened(t, { ...OPTIONS, words: false });
  const final = { type: "final", text: "бір", startSample: 0, endSample: 640, words: [] } as const;
  decoder.emit({ ...final, utterance: 0 });
  decoder.emit({ ...final, utterance: 1, isFromFinalize: true });
  const flags = sink.messages.flatMap((message) => (message.type === "final" ? [message.from_finalize] : []));
  assert.deepEqual(flags, [undefined, true]);
});

test("close decodes the remaining audio, settles, and ends with done and 1000", (t) => {
  const all = opened(t);
  const { session, decoder, sink } = all;
  session.audio(bytesOf([1, 2, 3, 4]));
  session.finalize();
  session.close();
  session.close();
  session.finalize();
  assert.deepEqual(decoder.calls, ["finalize", "finish"]);
  assert.deepEqual(sink.closes, []);
  decoder.emit({ type: "finished" });
  decoder.emit({ type: "finished" });
  assert.deepEqual(sink.messages, [{ type: "done", audio_seconds: 4 / RATE_HZ, credits_charged: 1 }]);
  assert.deepEqual(sink.closes, [{ code: 1000, reason: "done" }]);
  assertEnded(all);
});

test("audio after close is neither decoded nor charged", (t) => {
  const { session, decoder, sink } = opened(t);
  session.audio(bytesOf([1, 2]));
  session.close();
  session.audio(bytesOf([3, 4, 5]));
  decoder.emit({ type: "finished" });
  assert.deepEqual(decoder.samples, [1, 2]);
  assert.deepEqual(sink.messages, [{ type: "done", audio_seconds: 2 / RATE_HZ, credits_charged: 1 }]);
});

test("a client that is silent for 60 s is closed with 4408", (t) => {
  const all = opened(t);
  all.timers.advance(IDLE_MS - 1);
  assert.deepEqual(all.sink.closes, []);
  all.timers.advance(1);
  assert.deepEqual(typesOf(all.sink.messages), ["error idle"]);
  assert.deepEqual(all.sink.closes, [{ code: 4408, reason: "idle" }]);
  assertEnded(all);
});

for (const sign of ["audio", "keepalive", "finalize"] as const) {
  test(`${sign} keeps the session alive`, (t) => {
    const { session, sink, timers } = opened(t);
    for (let minute = 0; minute < 3; minute++) {
      timers.advance(IDLE_MS - 1);
      if (sign === "audio") session.audio(bytesOf([0]));
      else session[sign]();
    }
    assert.deepEqual(sink.closes, []);
    timers.advance(IDLE_MS);
    assert.deepEqual(sink.closes, [{ code: 4408, reason: "idle" }]);
  });
}

test("audio beyond the backlog ends the session with too_fast", (t) => {
  const all = opened(t);
  all.decoder.roomSamples = 3;
  all.session.audio(bytesOf([1, 2, 3, 4]));
  all.session.audio(bytesOf([5]));
  assert.deepEqual(typesOf(all.sink.messages), ["error too_fast"]);
  assert.deepEqual(all.sink.closes, [{ code: 4400, reason: "too_fast" }]);
  assertEnded(all);
});

test("a stopping service lets the session finish and closes with 1012", (t) => {
  const all = opened(t);
  all.session.goingAway(25);
  all.session.audio(bytesOf([1]));
  assert.deepEqual(all.sink.messages, [{ type: "going_away", deadline_s: 25 }]);
  all.decoder.emit({
    type: "final",
    utterance: 0,
    text: "бір",
    startSample: 0,
    endSample: 640,
    words: [],
  });
  all.decoder.emit({ type: "finished" });
  assert.deepEqual(typesOf(all.sink.messages), ["going_away", "final", "done"]);
  assert.deepEqual(all.sink.closes, [{ code: 1012, reason: "going away" }]);
  assertEnded(all);
});

test("a disconnected client frees its slot and gets no more messages", (t) => {
  const all = opened(t);
  all.session.disconnected();
  all.session.disconnected();
  all.decoder.emit({ type: "ready" });
  all.session.badMessage("no JSON");
  all.session.goingAway(1);
  assert.deepEqual(all.sink.messages, []);
  assert.deepEqual(all.sink.closes, []);
  assertEnded(all);
});

test("a failed decoder ends the session with an error that can be retried", (t) => {
  const all = opened(t);
  all.decoder.emit({ type: "failed", message: "live transcription is not available" });
  assert.deepEqual(all.sink.messages, [
    { type: "error", code: "internal", detail: "live transcription is not available", retryable: true },
  ]);
  assert.deepEqual(all.sink.closes, [{ code: 1011, reason: "internal" }]);
  assertEnded(all);
});

test("a cold model delays a session without changing its messages", (t) => {
  const all = openedCold(t);
  all.session.audio(bytesOf([1, 2]));
  all.session.finalize();
  all.session.audio(bytesOf([3]));
  all.session.close();
  assert.deepEqual([all.decoder.samples, all.sink.messages], [[1, 2, 3], []]);
  assert.deepEqual(all.decoder.calls, ["finalize", "finish"]);
  all.decoder.emit({ type: "ready" });
  all.decoder.emit({ type: "finished" });
  assert.deepEqual(typesOf(all.sink.messages), ["ready", "done"]);
  assertEnded(all);
});

for (const [code, closeCode] of [
  ["ENGINE_BUSY", 1013],
  ["SHUTTING_DOWN", 1012],
] as const) {
  test(`a model that does not load ends the session with ${closeCode} at no cost`, (t) => {
    const all = openedCold(t);
    all.session.audio(bytesOf([1, 2, 3]));
    all.session.unavailable(new ServiceError(code, "no model"));
    const name = code.toLowerCase();
    assert.deepEqual(all.sink.messages, [{ type: "error", code: name, detail: "no model", retryable: true }]);
    assert.deepEqual(all.sink.closes, [{ code: closeCode, reason: name }]);
    assertEnded(all, 0);
  });
}

test("a client that leaves while the model is cold pays nothing", (t) => {
  const all = openedCold(t);
  all.session.audio(bytesOf([1, 2, 3]));
  all.session.disconnected();
  assert.deepEqual([all.sink.messages, all.sink.closes], [[], []]);
  assertEnded(all, 0);
});

test("a sink that throws ends only its own session, with 1011", (t) => {
  class BrokenSink extends RecordingSink {
    override send(): void {
      throw new Error("socket of another life");
    }
  }
  const all = opened(t, OPTIONS, new BrokenSink());
  all.decoder.emit({ type: "ready" });
  assert.deepEqual(all.sink.closes, [{ code: 1011, reason: "internal" }]);
  assertEnded(all);
});

test("after any events, nothing is sent after the close and everything is freed once", (t) => {
  const steps = {
    audio: (all: Opened) => all.session.audio(bytesOf([1, 2, 3])),
    finalize: (all: Opened) => all.session.finalize(),
    close: (all: Opened) => all.session.close(),
    badMessage: (all: Opened) => all.session.badMessage("no JSON"),
    goingAway: (all: Opened) => all.session.goingAway(30),
    disconnected: (all: Opened) => all.session.disconnected(),
    idle: (all: Opened) => all.timers.advance(IDLE_MS),
    ready: (all: Opened) => all.decoder.emit({ type: "ready" }),
    finalized: (all: Opened) => all.decoder.emit({ type: "finalized" }),
    finished: (all: Opened) => all.decoder.emit({ type: "finished" }),
    failed: (all: Opened) => all.decoder.emit({ type: "failed", message: "gone" }),
  };
  const anyStep = fc.constantFrom(...(Object.keys(steps) as (keyof typeof steps)[]));
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 15 }), (names) => {
      const all = opened(t);
      for (const name of names) steps[name](all);
      all.session.disconnected();
      assertEnded(all);
      assert.ok(all.sink.closes.length <= 1);
      assert.ok(all.sink.messages.filter((message) => message.type === "done").length <= 1);
      t.mock.restoreAll();
    }),
    { numRuns: 300 },
  );
});

test("unpaid audio ends the session with 4429 after the finals of the paid audio", (t) => {
  const all = opened(t);
  const beyond = new ServiceError("OUT_OF_CREDITS", "out of credits: needs 6 credits, 0 left");
  all.meter.onFunds({ limitSamples: 3, beyond });
  all.session.audio(bytesOf([1, 2]));
  all.session.audio(bytesOf([3, 4, 5]));
  all.session.audio(bytesOf([6]));
  assert.deepEqual(all.decoder.samples, [1, 2, 3]);
  assert.deepEqual(all.decoder.calls, ["finish"]);
  all.decoder.emit({ type: "finished" });
  assert.deepEqual(all.sink.messages, [
    { type: "error", code: "out_of_credits", detail: beyond.message, retryable: false },
    { type: "done", audio_seconds: 3 / RATE_HZ, credits_charged: 1 },
  ]);
  assert.deepEqual(all.sink.closes, [{ code: 4429, reason: "out_of_credits" }]);
  assertEnded(all);
});

test("audio waits for the first credit check, and close for the audio", (t) => {
  const all = opened(t, OPTIONS, new RecordingSink(), new FreeMeter({ isPatient: true }));
  all.session.audio(bytesOf([1, 2, 3]));
  all.session.finalize();
  all.session.close();
  assert.deepEqual([all.decoder.samples, all.decoder.calls], [[], []]);
  all.meter.onFunds({ limitSamples: 10, beyond: new ServiceError("OUT_OF_CREDITS", "out of credits") });
  assert.deepEqual(
    [all.decoder.samples, all.decoder.calls],
    [
      [1, 2, 3],
      ["finalize", "finish"],
    ],
  );
  all.decoder.emit({ type: "finished" });
  assert.deepEqual(all.sink.closes, [{ code: 1000, reason: "done" }]);
  assertEnded(all);
});

test("a session without credits ends immediately, with early audio bounded", (t) => {
  const poor = opened(t, OPTIONS, new RecordingSink(), new FreeMeter({ isPatient: true }));
  poor.meter.onFunds({ limitSamples: 0, beyond: new ServiceError("AUTH_UNAVAILABLE", "metering is away") });
  assert.deepEqual(typesOf(poor.sink.messages), ["error auth_unavailable"]);
  poor.decoder.emit({ type: "finished" });
  assert.deepEqual(poor.sink.closes, [{ code: 4503, reason: "auth_unavailable" }]);
  assertEnded(poor);
  t.mock.restoreAll();
  const eager = opened(t, OPTIONS, new RecordingSink(), new FreeMeter({ isPatient: true }));
  eager.session.audio(new Uint8Array(60 * RATE_HZ * 2));
  assert.deepEqual(eager.sink.closes, []);
  eager.session.audio(new Uint8Array(2));
  assert.deepEqual(eager.sink.closes, [{ code: 4400, reason: "too_fast" }]);
});
