import assert from "node:assert/strict";
import { test } from "node:test";
import type { WordTime } from "../../../core/domain/synthesis/word-time.js";
import { saidWords, WrittenWords } from "../../../core/domain/synthesis/word-times.js";
import { spokenSentences } from "../../../core/domain/text/spoken-sentences.js";
import * as fc from "../../support/properties.js";

const RATE_HZ = 1_000;

/** Returns the times of a text whose characters last 10 ms each, sentence by sentence. */
function timesOf(text: string): WordTime[] {
  const written = new WrittenWords(text, RATE_HZ);
  let sentenceStart = 0;
  return spokenSentences(text, { expand: true }).flatMap(({ pieces }) => {
    let length = 0;
    const said = pieces.flatMap((piece) => {
      const bounds = Int32Array.from({ length: piece.text.length + 1 }, (_, i) => 10 * i);
      const words = saidWords(piece, bounds, length);
      length += 10 * piece.text.length;
      return words;
    });
    const times = written.timesOf(said, sentenceStart);
    sentenceStart += length;
    return times;
  });
}

test("a word has a written form, a position in code points and a spoken form", () => {
  const text = "😀 Сәлем, 2024 жыл!";
  const [salem, year, ...rest] = timesOf(text);
  assert.deepEqual(salem, { word: "Сәлем", start: 0, end: 0.05, from: 2, to: 7 });
  const { word, spoken, from, to } = year!;
  assert.deepEqual({ word, from, to }, { word: "2024", from: 9, to: 13 });
  assert.match(spoken ?? "", /^екі мың жиырма төрт/);
  assert.equal(rest.length, 1);
  assert.equal([...text].slice(rest[0]!.from, rest[0]!.to).join(""), "жыл");
});

test("times continue across sentences; the words of a number count as one", () => {
  const times = timesOf("Бір. 15%-ға өсті.");
  assert.deepEqual(
    times.map(({ word, spoken }) => [word, spoken]),
    [
      ["Бір", undefined],
      ["15%-ға", "он бес пайызға"],
      ["өсті", undefined],
    ],
  );
  assert.deepEqual([times[1]!.start, times[1]!.end], [0.04, 0.18]);
});

test("a word in another normal form has no separate spoken form", () => {
  const [word] = timesOf("Қай".normalize("NFD"));
  assert.equal(word?.spoken, undefined);
  assert.equal(word?.to, [..."Қай".normalize("NFD")].length);
});

test("words of any text are in order, at their stated positions, without overlap", () => {
  const fragments = fc.constantFrom(
    "сөз",
    "Екі",
    "2024",
    "5 млн ₸",
    "ХХІ ғ.",
    "😀",
    "e\u0301",
    "ok.kz",
    ". ",
    ", ",
    "\n",
  );
  fc.assert(
    fc.property(fc.array(fragments, { maxLength: 12 }), (parts) => {
      const text = parts.join(" ");
      const codePoints = [...text];
      let last = { start: 0, end: 0, from: 0, to: 0 };
      for (const time of timesOf(text)) {
        assert.equal(codePoints.slice(time.from, time.to).join(""), time.word);
        assert.ok(time.from >= last.to && time.from < time.to, text);
        assert.ok(time.start >= last.end && time.start < time.end, text);
        last = time;
      }
    }),
  );
});
