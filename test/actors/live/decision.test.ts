import assert from "node:assert/strict";
import { test } from "node:test";
import {
  decideLive,
  type LiveEffect,
  type LiveMessage,
  type LiveState,
} from "../../../actors/live/decision.js";
import { ServiceError } from "../../../src/domain/errors.js";
import type { LiveEvent } from "../../../src/ports/live-decoder.js";
import * as fc from "../../support/properties.js";

const RATE_HZ = 16_000;
const FOUR_HOURS_SAMPLES = 4 * 3_600 * RATE_HZ;
const LISTENING: LiveState = { phase: "listening", acceptedSamples: 0, shown: null };
const DRAINING: LiveState = { phase: "draining", acceptedSamples: RATE_HZ, closeCode: 1000, shown: null };

const anyEvent: fc.Arbitrary<LiveEvent> = fc.constantFrom<LiveEvent>(
  { type: "ready" },
  { type: "partial", utterance: 0, text: "бір", startSample: 0, endSample: 640 },
  { type: "final", utterance: 0, text: "бір", startSample: 0, endSample: 640, words: [] },
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
      { type: "bad-message", detail: "not JSON", isOneTooMany: false },
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

/** Everything a session did about the messages, and the phase before each of them. */
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

test("a stopped session does nothing more, and everything ends exactly once", () => {
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

test("only audio taken while listening counts, and done says that and the charge", () => {
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

test("a service that goes away says so, finishes the audio and closes with 1012", () => {
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

test("a client that has closed already still gets its 1000 when the service goes away", () => {
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

test("exactly 4 hours of audio are a session", () => {
  const message: LiveMessage = { type: "audio", sampleCount: FOUR_HOURS_SAMPLES, isRefused: false };
  const { state, effects } = decideLive(LISTENING, message, RATE_HZ);
  assert.deepEqual([state.phase, effects], ["listening", []]);
});

test("a message that is not JSON is answered and the session goes on", () => {
  for (const state of [LISTENING, DRAINING]) {
    const decision = decideLive(
      state,
      { type: "bad-message", detail: "no JSON", isOneTooMany: false },
      RATE_HZ,
    );
    assert.equal(decision.state, state);
    assert.deepEqual(decision.effects, [
      { type: "send", message: { type: "error", code: "bad_message", detail: "no JSON", retryable: false } },
    ]);
  }
});

test("a client that vanished costs a release and hears nothing", () => {
  for (const state of [LISTENING, DRAINING]) {
    const { effects } = decideLive(state, { type: "disconnected" }, RATE_HZ);
    assert.deepEqual(effects, [{ type: "release" }]);
  }
});

test("the stable part of an utterance only grows, whatever texts its workers come up with", () => {
  // A text that grows, and now and then another one: a lost worker's audio is decoded anew.
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

test("a partial that goes on from what was shown is sent, and all of it is stable", () => {
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
