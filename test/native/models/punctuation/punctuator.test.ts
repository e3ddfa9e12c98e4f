import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { corpusLines } from "../../../../bench/support/corpora.js";
import { displayedWords, displayLine } from "../../../../core/domain/text/display/display-text.js";
import type { Case, Mark, Punctuation } from "../../../../core/domain/text/display/marks.js";
import { STRETCH_WORDS, stretchesOf } from "../../../../core/domain/text/display/text-windows.js";
import { Punctuator } from "../../../../native/models/punctuation/punctuator.js";

/** The number of lines that are joined without their boundaries, as from a recogniser. */
const JOINED = 3;
const MARKS = [",", ".", "?"] as const;

let punctuator: Punctuator;
before(async () => {
  punctuator = await Punctuator.load();
});
after(() => punctuator.release());

for (const [spoken, expected] of [
  [
    "он пятнадцатого марта две тысячи двадцать шестого года заплатил сто двадцать тысяч тенге",
    "Он 15 марта 2026 года заплатил 120 000 тенге.",
  ],
  [
    "президент қасым жомарт тоқаев екі мың жиырма төртінші жылы он бесінші наурызда үкімет отырысын өткізді",
    "Президент Қасым-Жомарт Тоқаев 2024 жылы 15 наурызда Үкімет отырысын өткізді.",
  ],
] as const) {
  test(`writes "${expected}"`, async () => {
    const words = spoken.split(" ");
    const displayed = displayedWords(words, await punctuator.read(words), { numerals: "auto" });
    assert.equal(displayLine(displayed.map(({ text }) => text)).replaceAll("\u00a0", " "), expected);
  });
}

for (const { file, least } of [
  { file: "kk-heldout.txt.br", least: { ",": 0.38, ".": 0.7, "?": 0.7 } },
  { file: "ru-heldout.txt.br", least: { ",": 0.6, ".": 0.68, "?": 0.7 } },
]) {
  test(`the punctuation of held-out lines (${file}) is restored with the accuracy that the model card states`, async () => {
    const counts = Object.fromEntries(MARKS.map((mark) => [mark, { right: 0, wrong: 0, missed: 0 }]));
    const lines = corpusLines(file).filter((line) => !/[\dA-Za-z]/.test(line) && /[.?!]$/.test(line));
    for (let first = 0; first + JOINED <= lines.length; first += JOINED) {
      const truth = lines.slice(first, first + JOINED).flatMap(markedWords);
      const { marks } = await punctuator.read(truth.map(({ word }) => word));
      for (const [at, { mark }] of truth.entries()) {
        for (const name of MARKS) {
          const [is, was] = [marks[at] === name, mark === name];
          if (is && was) counts[name]!.right++;
          else if (is) counts[name]!.wrong++;
          else if (was) counts[name]!.missed++;
        }
      }
    }
    for (const name of MARKS) {
      const { right, wrong, missed } = counts[name]!;
      const f1 = (2 * right) / (2 * right + wrong + missed);
      assert.ok(f1 >= least[name], `${name}: ${f1.toFixed(3)}`);
    }
  });
}

test("reads long texts in windows that agree with a text read at once", async () => {
  const words = corpusLines("ru-heldout.txt.br")
    .filter((line) => !/[\dA-Za-z]/.test(line))
    .slice(0, 80)
    .flatMap((line) => markedWords(line).map(({ word }) => word));
  assert.ok(words.length > 500);
  const read = await punctuator.read(words);
  assert.deepEqual(
    [read.marks.length, read.cases.length, read.stops.length],
    [words.length, words.length, words.length],
  );
  // A window ends elsewhere if more words follow, which hardly matters to those far from its end.
  const alone = await punctuator.read(words.slice(0, 80));
  const differing = alone.marks.slice(0, 60).filter((mark, at) => mark !== read.marks[at]);
  assert.ok(differing.length <= 1, `${differing.length} of 60 marks differ`);
});

test("stretches that were read before the text was complete are not read again", async () => {
  const words = Array.from({ length: 700 }, (_, nth) => (nth % 7 === 6 ? "сегодня" : "погода"));
  const pauses = Float32Array.from(words, (_, nth) => (nth % 7 === 6 ? 0.7 : 0));
  const whole = await punctuator.read(words, pauses);
  const begun = await Promise.all(
    stretchesOf(words.length)
      .slice(0, -1)
      .map(([first, end]) => punctuator.readStretch(words.slice(first, end), pauses.subarray(first, end))),
  );
  assert.ok(begun.length > 1);
  assert.deepEqual(await punctuator.read(words, pauses, begun), whole);
  const others = begun.map((read) => ({ ...read, marks: read.marks.map(() => "?" as const) }));
  const read = await punctuator.read(words, pauses, others);
  assert.deepEqual(new Set(read.marks.slice(0, 400)), new Set(["?"]));
  assert.deepEqual(await punctuator.read(words, pauses, [undefined, ...begun.slice(1)]), whole);
});

test("where stretches are joined, a mark and the case of the next word agree", async () => {
  const words = Array.from({ length: 700 }, () => "погода");
  const all = (mark: Mark, wordCase: Case): Punctuation => ({
    marks: Array.from({ length: STRETCH_WORDS }, () => mark),
    cases: Array.from({ length: STRETCH_WORDS }, () => wordCase),
    stops: Array.from({ length: STRETCH_WORDS }, () => "."),
  });
  const { marks, cases } = await punctuator.read(words, null, [all(",", "lower"), all(".", "capital")]);
  assert.equal(marks.length, words.length);
  const change = cases.indexOf("capital");
  assert.ok(change > 0);
  assert.deepEqual([marks[change - 2], marks[change - 1]], [",", "."]);
});

test("returns nothing for no words", async () => {
  assert.deepEqual(await punctuator.read([]), { marks: [], cases: [], stops: [] });
});

/** The words of a line, each with the first full stop or comma after it. */
function markedWords(line: string): { word: string; mark: string }[] {
  return [...line.matchAll(/([\p{L}\p{M}]+)([^\p{L}\p{M}]*)/gu)].map(([, word = "", behind = ""]) => ({
    word: word.toLowerCase(),
    mark: /[.…!]/.test(behind) ? "." : (/[?,]/.exec(behind)?.[0] ?? ""),
  }));
}
