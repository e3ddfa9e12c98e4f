import assert from "node:assert/strict";
import { test } from "node:test";
import { LiveHistory, type LiveItem } from "../../src/client/live-history.js";
import { liveSentences } from "../../src/client/live-sentences.js";
import { LiveTranscript } from "../../src/client/live-transcript.js";
import { ResultQueue } from "../../src/client/result-queue.js";
import { backoffMs, isRetryable, parseRetryAfter } from "../../src/client/retry.js";
import { SendWindow } from "../../src/client/send-window.js";
import * as fc from "../support/properties.js";

const final = (text: string, start: number, end: number) =>
  ({ type: "final", utterance: 0, text, start, end }) as const;
const partial = (text: string, start: number, end: number) =>
  ({ type: "partial", utterance: 0, text, start, end, stable: 0 }) as const;

test("a history returns its input from any position, in parts of any size", () => {
  const step = fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.constant("finalize" as const));
  fc.assert(
    fc.property(fc.array(step), fc.nat(), fc.integer({ min: 1, max: 17 }), (steps, place, portion) => {
      const history = new LiveHistory();
      const expected: (number | "finalize")[] = [];
      for (const given of steps) {
        if (given === "finalize") history.finalize();
        else history.append(new Uint8Array(given));
        expected.push(...(given === "finalize" ? [given] : given));
      }
      history.close();
      const fromByte = place % (history.endByte + 1);
      const reader = history.readFrom(fromByte);
      const read: (number | "finalize" | "close")[] = [];
      for (let item: LiveItem | null = reader.next(portion); item !== null; item = reader.next(portion)) {
        if (item.type === "audio") read.push(...item.bytes);
        else read.push(item.type);
      }
      assert.deepEqual(read, [...afterBytes(expected, fromByte), "close"]);
    }),
  );
});

test("a history drops only whole chunks", () => {
  const history = new LiveHistory();
  history.append(new Uint8Array(10));
  history.append(new Uint8Array(10));
  history.dropBefore(9);
  assert.equal(history.startByte, 0);
  history.dropBefore(15);
  assert.deepEqual([history.startByte, history.endByte], [10, 20]);
  history.dropBefore(20);
  assert.deepEqual([history.startByte, history.endByte], [20, 20]);
});

test("a transcript continues times and numbers without repeating results", () => {
  const transcript = new LiveTranscript();
  assert.deepEqual(transcript.accept(final("бір", 3, 4.0)), [final("бір", 3, 4.0)]);
  assert.equal(transcript.resumeSample, (4 - 1.6) * 16_000);
  transcript.startSocket(transcript.resumeSample);
  assert.deepEqual(transcript.accept(partial("бі", 0.5, 1.2)), [], "of the utterance before");
  assert.deepEqual(transcript.accept(final("бір", 0.6, 1.6)), []);
  const next = { type: "partial", utterance: 1, text: "е", start: 4.5, end: 5, stable: 0 };
  assert.deepEqual(transcript.accept(partial("е", 2.1, 2.6)), [next]);
  const [received] = transcript.accept({
    ...final("екі", 2.2, 2.9),
    words: [{ word: "екі", start: 2.2, end: 2.9, confidence: 0.9 }],
  });
  assert.deepEqual(received, {
    type: "final",
    utterance: 1,
    text: "екі",
    start: 4.6,
    end: 5.3,
    words: [{ word: "екі", start: 4.6, end: 5.3, confidence: 0.9 }],
  });
});

test("a final cut off by a stopping service is dropped, a complete one is kept", () => {
  const done = { type: "done", audio_seconds: 10, credits_charged: 60 } as const;
  const rules = { endOfUtteranceMs: 200, isAll: false };
  const transcript = new LiveTranscript();
  transcript.serviceStopping();
  assert.deepEqual(transcript.accept(final("бір", 1, 2)), []);
  assert.equal(transcript.accept(final("екі", 8, 9.8)).length, 1, "the one before is whole");
  assert.deepEqual(transcript.settle(done, rules), []);
  assert.deepEqual(
    transcript.releaseHeld().map(({ text }) => text),
    ["екі"],
    "unless nobody comes after",
  );
  transcript.startSocket(0);
  transcript.serviceStopping();
  transcript.accept(final("үш", 9.85, 9.99));
  assert.equal(transcript.settle(done, { ...rules, isAll: true }).length, 1);
});

const shown = (display_text: string, display_before: string, start: number, end: number) => ({
  ...final(display_text.toLowerCase(), start, end),
  ...{ display_text, display_before },
});
const lastBefore = (results: readonly object[]) =>
  results.map((result) => ("display_before" in result ? result.display_before : undefined));
const DONE = { type: "done", audio_seconds: 10, credits_charged: 60 } as const;
const RULES = { endOfUtteranceMs: 200, isAll: false };

test("readable finals of another connection are joined with a space, or with the punctuation that a repeated final shows", () => {
  const transcript = new LiveTranscript();
  assert.deepEqual(lastBefore(transcript.accept(shown("Мен келдім", "", 1, 2))), [""]);
  assert.equal(transcript.displayEnd, ".");
  transcript.startSocket(transcript.resumeSample);
  assert.deepEqual(lastBefore(transcript.accept(shown("Сен қайда", "", 2.4, 3))), [" "], "unknown");
  transcript.startSocket(transcript.resumeSample);
  assert.deepEqual(transcript.accept(shown("Қайда", "", 0.6, 1.6)), [], "a repeat");
  assert.deepEqual(lastBefore(transcript.accept(shown("үйде.", ", ", 2.2, 2.9))), [", "]);
  assert.equal(transcript.displayEnd, "");
  transcript.startSocket(transcript.resumeSample);
  assert.deepEqual(transcript.accept(shown("Үйде", "", 0.6, 1.6)), []);
  assert.deepEqual(lastBefore(transcript.accept(shown("Жақсы", ". ", 2.2, 2.9))), [" "], "no second mark");
});

test("the punctuation that a stopping service reports precedes the next connection's text", () => {
  const transcript = new LiveTranscript();
  transcript.accept(shown("Сен қайда болдың", "", 1, 2));
  transcript.serviceStopping();
  assert.deepEqual(transcript.settle({ ...DONE, display_end: "?" }, RULES), []);
  assert.equal(transcript.displayEnd, "?");
  transcript.startSocket(transcript.resumeSample);
  assert.deepEqual(lastBefore(transcript.accept(shown("Үйде", "", 2.4, 3))), ["? "]);
  transcript.serviceStopping();
  transcript.accept(shown("бол", ", ", 3.5, 9.9));
  assert.deepEqual(transcript.settle({ ...DONE, display_end: "." }, RULES), [], "cut off");
  transcript.startSocket(transcript.resumeSample);
  assert.deepEqual(lastBefore(transcript.accept(shown("Болдым", "", 3, 4))), [", "]);
});

test("the text ends without punctuation if the service reports none", () => {
  const transcript = new LiveTranscript();
  transcript.accept(shown("Бұл үй", "", 1, 2));
  transcript.settle({ ...DONE, display_end: "" }, { ...RULES, isAll: true });
  assert.equal(transcript.displayEnd, "");
  transcript.startSocket(transcript.resumeSample);
  transcript.accept(shown("Бұл", "", 2.4, 3));
  transcript.startSocket(transcript.resumeSample);
  transcript.settle({ ...DONE, display_end: "" }, { ...RULES, isAll: true });
  assert.equal(transcript.displayEnd, ".", "it has heard nothing");
});

test("readable words and masked data get the session's times", () => {
  const transcript = new LiveTranscript();
  transcript.startSocket(16_000);
  const timed = { start: 0.5, end: 1 };
  const [received] = transcript.accept({
    ...shown("[PHONE].", "", 0.5, 1),
    display_words: [{ word: "[PHONE].", ...timed, spoken: [0, 1] }],
    redactions: [{ kind: "phone", ...timed }],
  });
  assert.ok(received?.type === "final");
  assert.deepEqual(received.display_words, [{ word: "[PHONE].", start: 1.5, end: 2, spoken: [0, 1] }]);
  assert.deepEqual(received.redactions, [{ kind: "phone", start: 1.5, end: 2 }]);
});

test("finals become sentences with all their punctuation, and silence adds nothing", () => {
  const finals = [
    shown("Мен кеше келдім", "", 0, 1),
    shown("", "", 1, 2),
    shown("бірақ сен жоқ едің", ", ", 2, 3),
    shown("Қайда болдың?", ". ", 4, 5),
    shown("Бұл үй", " ", 6, 7),
    shown("ол емес", " — ", 7, 8),
  ];
  const sentences = liveSentences(finals, { displayEnd: "." });
  assert.deepEqual(
    sentences.map(({ text, start, end, words }) => [text, start, end, words.length]),
    [
      ["Мен кеше келдім, бірақ сен жоқ едің.", 0, 3, 2],
      ["Қайда болдың?", 4, 5, 1],
      ["Бұл үй — ол емес.", 6, 8, 2],
    ],
  );
  assert.equal(sentences[0]?.words[0]?.word, "Мен кеше келдім,");
  const joined = finals.map(({ display_text, display_before }) => display_before + display_text).join("");
  assert.equal(sentences.map(({ text }) => text).join(" "), `${joined}.`);
  assert.deepEqual(
    liveSentences([final("бір", 0, 1), final("", 1, 2), final("екі", 2, 3)]).map(({ text }) => text),
    ["бір", "екі"],
  );
  assert.deepEqual(liveSentences([]), []);
});

test("sending stays half a minute ahead of transcription, and continues with it", () => {
  const window = new SendWindow(0);
  assert.equal(window.roomBytes(0), 30 * 32_000);
  window.sent(30 * 32_000);
  assert.equal(window.roomBytes(0), 0);
  assert.equal(window.roomBytes(1_000), 2 * 32_000);
  window.transcribedUntil(20);
  assert.equal(window.roomBytes(1_000), 20 * 32_000);
});

test("a slow reader gets the last partial and every final", async () => {
  const queue = new ResultQueue();
  for (const result of [partial("а", 0, 1), partial("аб", 0, 2), final("абв", 0, 3)]) queue.push(result);
  queue.push({ ...partial("г", 4, 5), utterance: 1 });
  queue.fail(new Error("gone"));
  assert.deepEqual(await queue.next(), { done: false, value: final("абв", 0, 3) });
  assert.equal((await queue.next()).done, false);
  await assert.rejects(queue.next(), /gone/);
});

test("retries follow the service's headers", () => {
  const refusal = { status: 503, code: "engine_busy", retryAfterMs: null, shouldRetry: null };
  assert.ok(isRetryable(refusal));
  assert.ok(isRetryable({ ...refusal, status: 429, retryAfterMs: 1_000 }));
  assert.ok(isRetryable({ ...refusal, status: 500, shouldRetry: true }));
  assert.ok(!isRetryable({ ...refusal, shouldRetry: false }));
  assert.ok(!isRetryable({ ...refusal, status: 429 }));
  assert.ok(!isRetryable({ ...refusal, status: 500 }));
  assert.ok(!isRetryable({ ...refusal, retryAfterMs: 3_600_000 }), "nobody waits an hour");
  assert.ok(!isRetryable({ ...refusal, code: "out_of_credits", retryAfterMs: 0, shouldRetry: true }));
  assert.deepEqual(
    [backoffMs(1, 0), backoffMs(1, 1), backoffMs(3, 1), backoffMs(30, 1)],
    [250, 500, 2_000, 8_000],
  );
  assert.equal(parseRetryAfter("3", 0), 3_000);
  assert.equal(parseRetryAfter("Thu, 01 Jan 1970 00:00:05 GMT", 2_000), 3_000);
  assert.equal(parseRetryAfter("soon", 0), null);
});

/** Returns the items after the first `count` bytes. A mark at that position belongs to the bytes before it. */
function afterBytes(items: readonly (number | "finalize")[], count: number): (number | "finalize")[] {
  if (count === 0) return [...items];
  let bytes = 0;
  let index = 0;
  for (; bytes < count; index++) if (items[index] !== "finalize") bytes++;
  while (items[index] === "finalize") index++;
  return items.slice(index);
}
