import assert from "node:assert/strict";
import { test } from "node:test";
import { brokenPauseRule, pauseMarks } from "../../../core/domain/text/pause-marks.js";
import { spokenSentences } from "../../../core/domain/text/spoken-sentences.js";
import * as fc from "../../support/properties.js";

const lengths = (text: string) => pauseMarks(text).map(({ milliseconds }) => milliseconds);

test("reads milliseconds and seconds in any case, with a point or a comma", () => {
  const marks: readonly (readonly [mark: string, milliseconds: number])[] = [
    ["[pause 500ms]", 500],
    ["[pause 1.5s]", 1_500],
    ["[pause 1,5 s]", 1_500],
    ["[PAUSE 10 S]", 10_000],
    ["[ pause  0ms ]", 0],
    ["[pause 0.25s]", 250],
  ];
  for (const [mark, milliseconds] of marks) {
    assert.deepEqual(lengths(mark), [milliseconds], mark);
    assert.equal(brokenPauseRule(mark), null, mark);
  }
});

test("other brackets are text", () => {
  for (const text of [
    "[pause]",
    "[pause музыка]",
    "[5 s]",
    "pause 500ms",
    "[pause 500ms",
    "(pause 1s)",
    "[]",
  ]) {
    assert.deepEqual(pauseMarks(text), [], text);
    assert.equal(brokenPauseRule(text), null, text);
  }
});

test("a mark with an invalid or excessive length is rejected and quoted", () => {
  for (const mark of [
    "[pause 500]",
    "[pause 11s]",
    "[pause 10001ms]",
    "[pause -1s]",
    "[pause 1m]",
    "[pause 1e3ms]",
    "[pause .5s]",
  ]) {
    assert.deepEqual(pauseMarks(mark), [], mark);
    const message = brokenPauseRule(`Сәлем ${mark} әлем`) ?? "";
    assert.match(message, /a pause must be \[pause 500ms\] or \[pause 1\.5s\] of at most 10 s, received/);
    assert.ok(message.includes(mark), message);
  }
});

test("rejects pauses of more than two minutes in total", () => {
  assert.equal(brokenPauseRule("[pause 10s]".repeat(12)), null);
  assert.match(brokenPauseRule("[pause 10s]".repeat(13)) ?? "", /at most 120 s together, received 130 s/);
});

test("a mark ends a sentence without shifting the positions of words", () => {
  const text = "Қайырлы таң [pause 500ms] достар! [pause 2s]\n[pause 1s] 15 адам. Соңы.";
  const sentences = spokenSentences(text, { expand: true });
  assert.deepEqual(
    sentences.map(({ start, end, pauseMs }) => [text.slice(start, end), pauseMs]),
    [
      ["Қайырлы таң [pause 500ms]", 500],
      [" достар! [pause 2s]", 2_000],
      ["\n[pause 1s]", 1_000],
      [" 15 адам. ", null],
      ["Соңы.", null],
    ],
  );
  const words = sentences.flatMap(({ pieces }) =>
    pieces.flatMap((piece) =>
      piece.words.map((word) => [
        piece.text.slice(word.spokenStart, word.spokenEnd),
        text.slice(word.start, word.end),
      ]),
    ),
  );
  assert.deepEqual(words, [
    ["қайырлы", "Қайырлы"],
    ["таң", "таң"],
    ["достар", "достар"],
    ["он", "15"],
    ["бес", "15"],
    ["адам", "адам"],
    ["соңы", "Соңы"],
  ]);
});

test("sentences cover the text without speaking pauses, wherever the marks are", () => {
  const part = fc.constantFrom(
    "[pause 1s]",
    "[pause 20ms]",
    " ",
    "\n",
    "Сәлем",
    "әлем. ",
    "2024 ж.",
    "😀",
    "[",
    "]",
    "!",
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      const text = parts.join("");
      const sentences = spokenSentences(text, { expand: true });
      assert.equal(sentences.map(({ start, end }) => text.slice(start, end)).join(""), text);
      const asked = sentences.flatMap(({ pauseMs }) => (pauseMs === null ? [] : [pauseMs]));
      assert.deepEqual(asked, lengths(text));
      for (const { pieces } of sentences) {
        for (const piece of pieces) assert.doesNotMatch(piece.text, /пауз/);
      }
    }),
  );
});
