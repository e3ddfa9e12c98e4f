import assert from "node:assert/strict";
import { test } from "node:test";
import { displayLine } from "../../../../core/domain/text/display/display-text.js";
import type { Mark, Punctuation } from "../../../../core/domain/text/display/marks.js";
import { type ReadingTask, readWords } from "../../../../core/domain/text/display/reading.js";
import * as fc from "../../../support/properties.js";

function task(text: string, options: Partial<ReadingTask> = {}): ReadingTask {
  return {
    words: text.split(" "),
    pauses: null,
    display: true,
    numerals: "auto",
    redact: [],
    context: 0,
    previous: "none",
    isOver: true,
    ...options,
  };
}

/** Punctuation after words, given by the words themselves; a question mark if the last word asks. */
function marked(words: readonly string[], marks: Readonly<Record<string, Mark>> = {}): Punctuation {
  return {
    marks: words.map((word) => marks[word] ?? ""),
    cases: words.map(() => "lower"),
    stops: words.map((word) => (marks[word] === "?" ? "?" : ".")),
  };
}

function read(given: ReadingTask, marks?: Readonly<Record<string, Mark>>) {
  const reading = readWords(given, marks === undefined ? null : marked(given.words, marks));
  return { ...reading, line: displayLine(reading.pieces.map(({ text }) => text)) };
}

test("a complete text ends with punctuation, even if the model predicts none", () => {
  assert.equal(read(task("мен келдім"), {}).line, "Мен келдім.");
  assert.equal(read(task("сен келдің бе"), { бе: "?" }).line, "Сен келдің бе?");
  assert.equal(read(task("мен келдім"), { келдім: "," }).line, "Мен келдім.");
});

test("a text that may continue reports its final punctuation separately", () => {
  const { line, stop, openWords } = read(task("сәлем достар сен келдің бе", { isOver: false }), {
    достар: ".",
    бе: "?",
  });
  assert.deepEqual(
    { line, stop, openWords },
    { line: "Сәлем достар. Сен келдің бе", stop: "?", openWords: 3 },
  );
});

test("the next text says what joins it to the previous one", () => {
  const next = (marks: Readonly<Record<string, Mark>>, options: Partial<ReadingTask> = {}) => {
    const { before, line, openWords } = read(
      task("мен келдім бірақ ол жоқ", { context: 2, previous: "open", isOver: false, ...options }),
      marks,
    );
    return [before, line, openWords];
  };
  assert.deepEqual(next({}), [" ", "бірақ ол жоқ", 5]);
  assert.deepEqual(next({ келдім: "," }), [", ", "бірақ ол жоқ", 5]);
  assert.deepEqual(next({ келдім: "—" }), [" — ", "бірақ ол жоқ", 5]);
  assert.deepEqual(next({ келдім: "." }), [". ", "Бірақ ол жоқ", 3]);
  assert.deepEqual(next({ келдім: "," }, { previous: "paused" }), [". ", "Бірақ ол жоқ", 3]);
  assert.deepEqual(next({}, { context: 0, previous: "ended" }), [" ", "Мен келдім бірақ ол жоқ", 5]);
  assert.deepEqual(next({}, { context: 0, previous: "none" }), ["", "Мен келдім бірақ ол жоқ", 5]);
});

test("a number in digits is masked as a whole and keeps its punctuation", () => {
  const said = "телефоным сегіз жеті жүз бір екі жүз жиырма екі қырық бес алпыс жеті рахмет";
  const { line, redactions } = read(task(said, { redact: ["phone"] }), { жеті: "" });
  assert.equal(line, "Телефоным [PHONE] рахмет.");
  assert.deepEqual(redactions, [{ kind: "phone", first: 1, end: 13 }]);
});

test("masking alone needs no readable text", () => {
  const { pieces, redactions } = read(
    task("восемь семьсот один двести двадцать два сорок пять шестьдесят семь", {
      display: false,
      redact: ["phone", "card"],
    }),
  );
  assert.deepEqual([pieces, redactions], [[], [{ kind: "phone", first: 0, end: 10 }]]);
});

test("for any words, pieces cover every word after the context once", () => {
  const word = fc.constantFrom(
    "он",
    "бес",
    "жүз",
    "мың",
    "двадцать",
    "пятого",
    "марта",
    "теңге",
    "келді",
    "бе",
    "кг",
  );
  fc.assert(
    fc.property(
      fc.array(word, { minLength: 1, maxLength: 14 }),
      fc.nat({ max: 13 }),
      fc.constantFrom("none", "ended", "open", "paused"),
      fc.boolean(),
      (words, nth, previous, isOver) => {
        const context = previous === "open" || previous === "paused" ? Math.min(nth, words.length - 1) : 0;
        const { pieces, openWords } = read(task(words.join(" "), { context, previous, isOver }), { бе: "?" });
        let at = 0;
        for (const { first, end } of pieces) {
          assert.equal(first, at);
          at = end;
        }
        assert.equal(at, words.length - context);
        assert.ok(openWords <= words.length);
      },
    ),
  );
});
