import assert from "node:assert/strict";
import { test } from "node:test";
import { decideLive } from "../../../actors/live/decision.js";
import {
  billedSamples,
  type LiveEffect,
  type LiveMessage,
  type LivePhase,
  type LiveState,
  NEW_SESSION,
} from "../../../actors/live/state.js";
import { ServiceError } from "../../../core/domain/errors.js";
import type { LiveEvent } from "../../../core/ports/live-decoder.js";
import * as fc from "../../support/properties.js";

const RATE_HZ = 16_000;
const FOUR_HOURS_SAMPLES = 4 * 3_600 * RATE_HZ;
const LISTENING = NEW_SESSION;
const DRAINING = {
  ...NEW_SESSION,
  phase: "draining",
  acceptedSamples: RATE_HZ,
  ending: { code: 1000, reason: "done" },
} as LiveState;

const anyEvent: fc.Arbitrary<LiveEvent> = fc.constantFrom<LiveEvent>(
  { type: "ready" },
  { type: "partial", utterance: 0, text: "бір", startSample: 0, endSample: 640 },
  { type: "final", utterance: 0, text: "бір", startSample: 0, endSample: 640, words: [] },
  { type: "finalized" },
  { type: "finished" },
  { type: "failed", message: "gone" },
);
const anyMessage: fc.Arbitrary<LiveMessage> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("audio" as const),
      sampleCount: fc.nat({ max: 100_000 }),
      isRefused: fc.constant(false),
    }),
  },
  { weight: 6, arbitrary: anyEvent.map((event) => ({ type: "event" as const, event })) },
  {
    weight: 4,
    arbitrary: fc.constantFrom<LiveMessage>(
      { type: "finalize" },
      { type: "close" },
      { type: "going-away", deadlineSeconds: 30 },
      { type: "bad-message", detail: "not JSON", atMs: 0 },
      { type: "settled", credits: 17 },
      { type: "unfunded", error: new ServiceError("OUT_OF_CREDITS", "out of credits") },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<LiveMessage>(
      { type: "idle" },
      { type: "disconnected" },
      { type: "audio", sampleCount: 10, isRefused: true },
    ),
  },
);

/** Returns all effects of the messages on a session, and the phase before each. */
function run(messages: readonly LiveMessage[]) {
  let state: LiveState = LISTENING;
  const steps = messages.map((message) => {
    const before = state;
    const decision = decideLive(state, message, RATE_HZ);
    state = decision.state;
    return { message, before, after: decision.state, effects: decision.effects };
  });
  return { state: state as LiveState, steps, effects: steps.flatMap((step) => step.effects) };
}

function isDone(effect: LiveEffect): boolean {
  return effect.type === "send" && effect.message.type === "done";
}

function countOf(effects: readonly LiveEffect[], type: LiveEffect["type"]): number {
  return effects.filter((effect) => effect.type === type).length;
}

test("a stopped session ends everything exactly once and does nothing more", () => {
  fc.assert(
    fc.property(fc.array(anyMessage, { maxLength: 30 }), (messages) => {
      const { state, steps, effects } = run(messages);
      for (const { before, after, effects: stepEffects } of steps) {
        if (before.phase !== "stopped") continue;
        assert.deepEqual(stepEffects, []);
        assert.equal(after, before);
      }
      const hasStopped = state.phase === "stopped";
      assert.equal(countOf(effects, "release"), hasStopped ? 1 : 0);
      assert.ok(countOf(effects, "close-socket") <= (hasStopped ? 1 : 0));
      assert.ok(effects.filter(isDone).length <= 1);
      assert.ok(countOf(effects, "finish") <= 1);
      const release = effects.findIndex((effect) => effect.type === "release");
      assert.ok(release === -1 || release === effects.length - 1, "nothing follows the release");
      const close = effects.findIndex((effect) => effect.type === "close-socket");
      assert.ok(close === -1 || close === effects.length - 2, "nothing is sent after the close");
    }),
    { numRuns: 500 },
  );
});

test("only audio accepted while listening counts, and `done` reports it and the charge", () => {
  fc.assert(
    fc.property(fc.array(anyMessage, { maxLength: 30 }), (messages) => {
      const { state, steps, effects } = run(messages);
      let accepted = 0;
      for (const { message, before } of steps) {
        if (message.type === "audio" && before.phase === "listening") accepted += message.sampleCount;
      }
      assert.equal(state.acceptedSamples, accepted);
      const done = effects.find(isDone);
      if (done?.type !== "send" || done.message.type !== "done") return;
      assert.equal(done.message.audio_seconds, accepted / RATE_HZ);
      assert.equal(done.message.credits_charged, 17);
      const settle = effects.findIndex((effect) => effect.type === "settle");
      assert.ok(settle >= 0 && settle < effects.indexOf(done), "it was settled before");
      assert.equal(countOf(effects, "settle"), 1);
    }),
    { numRuns: 500 },
  );
});

test("a draining session takes neither audio nor finalize and finishes once", () => {
  fc.assert(
    fc.property(fc.array(anyMessage, { maxLength: 20 }), (messages) => {
      for (const { message, before, effects } of run([{ type: "close" }, ...messages]).steps) {
        if (before.phase !== "draining") continue;
        if (message.type === "audio" || message.type === "finalize") assert.deepEqual(effects, []);
        assert.equal(countOf(effects, "finish"), 0);
      }
    }),
  );
});

test("a session's states only move forward, and accepted audio never decreases", () => {
  const order: readonly LivePhase[] = ["listening", "draining", "settling", "stopped"];
  fc.assert(
    fc.property(fc.array(anyMessage, { maxLength: 30 }), (messages) => {
      for (const { before, after } of run(messages).steps) {
        assert.ok(order.indexOf(after.phase) >= order.indexOf(before.phase));
        assert.ok(after.acceptedSamples >= before.acceptedSamples);
        assert.ok(after.isReady || !before.isReady, "a session stays ready");
      }
    }),
    { numRuns: 500 },
  );
});

test("close drains and ends with done and 1000", () => {
  const { effects } = run([
    { type: "audio", sampleCount: RATE_HZ / 2, isRefused: false },
    { type: "close" },
    { type: "event", event: { type: "finished" } },
    { type: "settled", credits: 3 },
  ]);
  assert.deepEqual(effects, [
    { type: "finish" },
    { type: "settle" },
    { type: "send", message: { type: "done", audio_seconds: 0.5, credits_charged: 3 } },
    { type: "close-socket", code: 1000, reason: "done" },
    { type: "release" },
  ]);
});

test("a stopping service sends going_away, finishes the audio and closes with 1012", () => {
  const { effects } = run([
    { type: "going-away", deadlineSeconds: 30 },
    { type: "close" },
    { type: "event", event: { type: "finished" } },
    { type: "settled", credits: 0 },
  ]);
  assert.deepEqual(effects.slice(0, 2), [
    { type: "send", message: { type: "going_away", deadline_s: 30 } },
    { type: "finish" },
  ]);
  assert.deepEqual(effects.slice(-2), [
    { type: "close-socket", code: 1012, reason: "going away" },
    { type: "release" },
  ]);
});

test("a client that has closed still gets its 1000 when the service stops", () => {
  const { effects } = run([
    { type: "close" },
    { type: "going-away", deadlineSeconds: 30 },
    { type: "event", event: { type: "finished" } },
    { type: "settled", credits: 0 },
  ]);
  assert.equal(countOf(effects, "finish"), 1);
  assert.deepEqual(effects.at(-2), { type: "close-socket", code: 1000, reason: "done" });
});

const ENDINGS: readonly {
  readonly name: string;
  readonly message: LiveMessage;
  readonly code: string;
  readonly closeCode: number;
  readonly retryable: boolean;
}[] = [
  {
    name: "audio beyond the backlog",
    message: { type: "audio", sampleCount: 5, isRefused: true },
    code: "too_fast",
    closeCode: 4400,
    retryable: false,
  },
  {
    name: "more than 4 hours of audio",
    message: { type: "audio", sampleCount: FOUR_HOURS_SAMPLES + 1, isRefused: false },
    code: "session_too_long",
    closeCode: 4413,
    retryable: false,
  },
  {
    name: "an idle client",
    message: { type: "idle" },
    code: "idle",
    closeCode: 4408,
    retryable: false,
  },
  {
    name: "a decoder that fails",
    message: { type: "event", event: { type: "failed", message: "gone" } },
    code: "internal",
    closeCode: 1011,
    retryable: true,
  },
];
for (const { name, message, code, closeCode, retryable } of ENDINGS) {
  test(`${name} ends with error ${code} and ${closeCode}`, () => {
    const { state, effects } = decideLive(LISTENING, message, RATE_HZ);
    assert.equal(state.phase, "stopped");
    const [error, ...rest] = effects;
    assert.ok(error?.type === "send" && error.message.type === "error");
    assert.equal(error.message.code, code);
    assert.equal(error.message.retryable, retryable);
    assert.deepEqual(rest, [{ type: "close-socket", code: closeCode, reason: code }, { type: "release" }]);
  });
}

test("a session ends after exactly 4 hours of audio", () => {
  const message: LiveMessage = { type: "audio", sampleCount: FOUR_HOURS_SAMPLES, isRefused: false };
  const { state, effects } = decideLive(LISTENING, message, RATE_HZ);
  assert.deepEqual([state.phase, effects], ["listening", []]);
});

test("a session survives a message that is not JSON and answers it", () => {
  for (const state of [LISTENING, DRAINING]) {
    const decision = decideLive(state, { type: "bad-message", detail: "no JSON", atMs: 0 }, RATE_HZ);
    assert.equal(decision.state.phase, state.phase);
    assert.deepEqual(decision.effects, [
      { type: "send", message: { type: "error", code: "bad_message", detail: "no JSON", retryable: false } },
    ]);
  }
});

test("ten invalid messages within a minute end the session, fewer do not", () => {
  const after = (timesMs: readonly number[]) =>
    run(timesMs.map((atMs) => ({ type: "bad-message", detail: "no JSON", atMs })));
  const nine = [5, 10, 20, 30, 40, 50, 60, 70, 80];
  const ended = after([...nine, 60_005]);
  assert.equal(ended.state.phase, "stopped");
  assert.deepEqual(ended.effects.at(-2), { type: "close-socket", code: 4400, reason: "too_many_messages" });
  const late = after([...nine, 60_006]);
  assert.equal(late.state.phase, "listening");
  assert.equal(countOf(late.effects, "send"), 10);
});

test("an utterance is finalized once for the audio before it, however often the client asks", () => {
  const audio = { type: "audio", sampleCount: 640, isRefused: false } as const;
  const finalize = { type: "finalize" } as const;
  assert.equal(countOf(run([finalize, finalize]).effects, "finalize"), 0);
  assert.equal(countOf(run([audio, finalize, finalize]).effects, "finalize"), 1);
  assert.equal(countOf(run([audio, finalize, audio, audio, finalize, finalize]).effects, "finalize"), 2);
});

test("a session whose decoder never became ready is not charged", () => {
  const audio = { type: "audio", sampleCount: 640, isRefused: false } as const;
  assert.equal(billedSamples(run([audio, { type: "disconnected" }]).state), 0);
  const ready = { type: "event", event: { type: "ready" } } as const;
  assert.equal(billedSamples(run([audio, ready, { type: "disconnected" }]).state), 640);
});

for (const [code, closeCode] of [
  ["ENGINE_BUSY", 1013],
  ["SHUTTING_DOWN", 1012],
] as const) {
  test(`models that do not load, ${code}, end with ${closeCode}`, () => {
    const { state, effects } = run([{ type: "unavailable", error: new ServiceError(code, "no model") }]);
    assert.equal(state.phase, "stopped");
    assert.deepEqual(effects.slice(1), [
      { type: "close-socket", code: closeCode, reason: code.toLowerCase() },
      { type: "release" },
    ]);
  });
}

for (const [code, closeCode, retryable] of [
  ["OUT_OF_CREDITS", 4429, false],
  ["TOO_MANY_REQUESTS", 4429, true],
  ["AUTH_UNAVAILABLE", 4503, true],
] as const) {
  test(`when ${code} leaves audio unpaid, the session ends with ${closeCode} after the paid audio`, () => {
    const { state, effects } = run([
      { type: "unfunded", error: new ServiceError(code, "not paid") },
      { type: "event", event: { type: "finished" } },
      { type: "settled", credits: 0 },
    ]);
    assert.equal(state.phase, "stopped");
    const sent = effects.flatMap((effect) => (effect.type === "send" ? [effect.message] : []));
    assert.deepEqual(sent[0], { type: "error", code: code.toLowerCase(), detail: "not paid", retryable });
    const closes = effects.filter(({ type }) => type === "close-socket");
    assert.deepEqual(closes, [{ type: "close-socket", code: closeCode, reason: code.toLowerCase() }]);
  });
}

test("a client that disconnected is released and gets no message", () => {
  for (const state of [LISTENING, DRAINING]) {
    const { effects } = decideLive(state, { type: "disconnected" }, RATE_HZ);
    assert.deepEqual(effects, [{ type: "release" }]);
  }
});

test("the stable part of an utterance only grows, regardless of what its workers send", () => {
  // A text that grows and is occasionally replaced, as when the audio of a lost worker is decoded again.
  const texts = fc.array(
    fc.record({
      letters: fc.array(fc.constantFrom("а", "б", " ", "𝄞"), { maxLength: 6 }),
      isAnew: fc.boolean(),
      isFinal: fc.boolean(),
    }),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(texts, (steps) => {
      let state: LiveState = LISTENING;
      let text = "";
      let utterance = 0;
      let promised = "";
      for (const { letters, isAnew, isFinal } of steps) {
        text = isAnew ? letters.join("") : text + letters.join("");
        const span = { utterance, text, startSample: 0, endSample: 640 };
        const event = isFinal
          ? ({ type: "final", ...span, words: [] } as const)
          : ({ type: "partial", ...span } as const);
        const decision = decideLive(state, { type: "event", event }, RATE_HZ);
        state = decision.state;
        for (const effect of decision.effects) {
          if (effect.type !== "send-event" || effect.event.type !== "partial") continue;
          const shown = [...effect.event.text];
          assert.ok(shown.join("").startsWith(promised), `"${shown.join("")}" breaks "${promised}"`);
          assert.ok(effect.event.stable <= shown.length);
          const stable = shown.slice(0, effect.event.stable).join("");
          assert.ok(stable.startsWith(promised), `"${stable}" is less than "${promised}"`);
          promised = stable;
        }
        if (!isFinal) continue;
        utterance++;
        [text, promised] = ["", ""];
      }
    }),
  );
});

test("a partial that extends the shown text is stable as a whole", () => {
  const partial = (utterance: number, text: string) =>
    ({ type: "event", event: { type: "partial", utterance, text, startSample: 0, endSample: 640 } }) as const;
  let state: LiveState = LISTENING;
  const sent: (number | null)[] = [];
  for (const message of [
    partial(0, "бі"),
    partial(0, "бір"),
    partial(0, "бар"),
    partial(0, "бірі"),
    partial(1, "а"),
  ]) {
    const decision = decideLive(state, message, RATE_HZ);
    state = decision.state;
    const effect = decision.effects[0];
    const isPartial = effect?.type === "send-event" && effect.event.type === "partial";
    sent.push(isPartial ? (effect.event as { stable: number }).stable : null);
  }
  assert.deepEqual(sent, [2, 3, null, 4, 1]);
});
