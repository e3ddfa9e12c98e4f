import assert from "node:assert/strict";
import { test } from "node:test";
import type { TimedWord } from "../../../core/domain/decoding/words.js";
import { readingCues, readingCuesInSteps } from "../../../core/domain/text/cues.js";
import * as fc from "../../support/properties.js";

const MARKED = /[.?!]$/;

/** Times words like speech: 55 ms per letter, and silence at punctuation. */
function spoken(text: string): TimedWord[] {
  let now = 0;
  return text.split(" ").map((word) => {
    const start = now;
    const end = start + 0.08 + 0.055 * [...word].length;
    now = end + 0.04 + (MARKED.test(word) ? 0.45 : word.endsWith(",") ? 0.2 : 0);
    return { word, start, end };
  });
}

function layout(text: string): string[] {
  return readingCues(spoken(text)).map(({ lines }) => lines.join(" / "));
}

for (const [text, expected] of [
  [
    "Алматыда бүгін жаңа көпір ашылды, бірақ жолаушылар оны тек келесі аптада ғана пайдалана алады. Құрылысқа 2024 жылы 15 наурызда 120 млн теңге бөлінген еді. Иә, солай.",
    [
      "Алматыда бүгін жаңа көпір ашылды,",
      "бірақ жолаушылар оны тек келесі / аптада ғана пайдалана алады.",
      "Құрылысқа 2024 жылы 15 наурызда / 120 млн теңге бөлінген еді.",
      "Иә, солай.",
    ],
  ],
  [
    "Сегодня в Астане открыли новый мост, который соединил два берега Ишима. Движение запустят в понедельник, когда закончат разметку, а пока по мосту можно ходить только пешком или ездить на велосипеде без остановок на смотровых площадках.",
    [
      "Сегодня в Астане открыли новый мост, / который соединил два берега Ишима.",
      "Движение запустят в понедельник, / когда закончат разметку,",
      "а пока по мосту можно ходить только пешком",
      "или ездить на велосипеде / без остановок на смотровых площадках.",
    ],
  ],
  [
    "мен кеше қаладағы үлкен дүкенге бардым да нан мен сүт алып үйге қайттым ал ол маған ештеңе айтпады",
    [
      "мен кеше қаладағы үлкен дүкенге / бардым да нан мен сүт алып үйге қайттым",
      "ал ол маған ештеңе айтпады",
    ],
  ],
] as const) {
  test(`lays out "${text.slice(0, 40)}…"`, () => assert.deepEqual(layout(text), expected));
}

test("an abbreviation does not end a cue", () => {
  assert.deepEqual(layout("Ол 1991 ж. желтоқсанда туған."), ["Ол 1991 ж. желтоқсанда туған."]);
});

test("a cue stays for reading during silence, until 0.08 s before the next one", () => {
  const word = "қауіпсіздігіміздің";
  const [first, second] = readingCues([
    { word: `${word}.`, start: 0, end: 0.4 },
    { word: `${word}.`, start: 1.1, end: 1.4 },
  ]);
  assert.ok(Math.abs(first!.endSeconds - 1.02) < 1e-9);
  assert.ok(Math.abs(second!.endSeconds - (1.1 + 19 / 17)) < 1e-9);
});

test("a silence of a second ends a cue, except after a preposition", () => {
  const cues = readingCues([
    { word: "мы", start: 0, end: 0.3 },
    { word: "жили", start: 0.3, end: 0.8 },
    { word: "долго", start: 1.9, end: 2.3 },
    { word: "в", start: 2.4, end: 2.5 },
    { word: "Алматы", start: 3.7, end: 4.2 },
  ]);
  assert.deepEqual(
    cues.map(({ lines }) => lines),
    [["мы жили"], ["долго в Алматы"]],
  );
});

test("a word longer than a line is cut; no words give no cues", () => {
  assert.deepEqual(readingCues([]), []);
  const [cue, ...others] = readingCues([{ word: "а".repeat(60), start: 0, end: 3 }]);
  assert.deepEqual(others, []);
  assert.deepEqual(cue?.lines, ["а".repeat(42), "а".repeat(18)]);
});

test("a word that ends in a hyphen is joined to the next, on one line", () => {
  const cues = readingCues([
    { word: "Жили", start: 0, end: 0.3 },
    { word: "в", start: 0.3, end: 0.4 },
    { word: "северо-", start: 0.4, end: 0.8 },
    { word: "западном", start: 0.8, end: 1.2 },
    { word: "крае.", start: 1.2, end: 1.6 },
  ]);
  assert.deepEqual(
    cues.map(({ lines }) => lines),
    [["Жили в северо-западном крае."]],
  );
  const lines = layout("Мы поехали на дачу вместе с северо- западными соседями");
  assert.ok(!lines.some((line) => /-(?: \/|$)/.test(line)), lines.join("; "));
  assert.equal(lines.join(" ").replaceAll(" /", ""), "Мы поехали на дачу вместе с северо-западными соседями");
});

test("numbers that contain spaces do not shift the ends of sentences", () => {
  const said = ["Ол", "1 120 000", "теңге", "төледі.", "Біз", "8 701 123-45-67", "нөміріне", "хабарластық."];
  const cues = readingCues(said.map((word, at) => ({ word, start: at, end: at + 0.9 })));
  assert.deepEqual(
    cues.map(({ lines }) => lines.join(" ")),
    ["Ол 1 120 000 теңге төледі.", "Біз 8 701 123-45-67 нөміріне хабарластық."],
  );
});

test("layout in steps gives the same cues", () => {
  const said = spoken("Бүгін жаңа көпір ашылды, бірақ ол әлі бос. ".repeat(200).trim());
  const steps = readingCuesInSteps(said);
  let [count, result] = [0, steps.next()];
  for (; result.done !== true; result = steps.next()) count++;
  assert.ok(count > 10);
  assert.deepEqual(result.value, readingCues(said));
});

const words = fc
  .array(
    fc.record({
      letters: fc.stringMatching(/^[А-Яа-яәі]{1,50}[.,!?:]?$/),
      gap: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 3, noNaN: true })),
      length: fc.oneof(
        fc.double({ min: 0.05, max: 0.8, noNaN: true }),
        fc.double({ min: 0.05, max: 9, noNaN: true }),
      ),
    }),
    { maxLength: 60 },
  )
  .map((all) => {
    let now = 0;
    return all.map(({ letters, gap, length }) => {
      const start = now + gap;
      now = start + length;
      return { word: letters, start, end: now };
    });
  });

test("cues contain every word once, in order, within their lines and times", () => {
  fc.assert(
    fc.property(words, (all) => {
      const cues = readingCues(all);
      const text = cues.flatMap(({ lines }) => lines).join("");
      assert.equal(text.replaceAll(" ", ""), all.map(({ word }) => word).join(""));
      for (const [at, { startSeconds, endSeconds, lines }] of cues.entries()) {
        const next = cues[at + 1]?.startSeconds ?? Number.POSITIVE_INFINITY;
        assert.ok(lines.length <= 2 && lines.every((line) => line !== "" && [...line].length <= 42));
        assert.ok(endSeconds > startSeconds && endSeconds <= next);
        assert.ok(endSeconds - startSeconds <= 7 + 1e-9);
        // Shown for its reading time, unless the next cue or the limit comes first.
        const reading = Math.max(1, [...lines.join(" ")].length / 17);
        assert.ok(endSeconds >= Math.min(startSeconds + reading, startSeconds + 7, next - 0.08) - 1e-9);
      }
    }),
    { numRuns: 500 },
  );
});

const NUMBERS = [
  "8 701 123 45 67",
  "120 млн теңге",
  "жүз жиырма үш",
  "двадцать пять тысяч рублей",
  "15 наурыз",
];
const LEANING = [
  "в городе",
  "из дома",
  "на берегу",
  "не хотел",
  "өте жақсы",
  "үй үшін",
  "ол да",
  "без остановок",
];
const PLAIN = [
  "жолаушылар",
  "кездескен",
  "говорили",
  "сегодня",
  "қайтадан",
  "адамдардың",
  "смотровых",
  "және",
  "бірақ,",
];

test("no cue or line ends inside a number or after a word that belongs to the next", () => {
  const phrase = fc.constantFrom(...NUMBERS, ...LEANING, ...PLAIN, ...PLAIN);
  fc.assert(
    fc.property(fc.array(phrase, { minLength: 1, maxLength: 60 }), (phrases) => {
      // A comma separates numbers that are adjacent by chance.
      const parted = phrases.map((part, at) => (NUMBERS.includes(part) && at % 2 === 0 ? `${part},` : part));
      const apart = parted.filter((part, at) => at === 0 || !(isNumeral(part) && isNumeral(parted[at - 1]!)));
      const lines = readingCues(spoken(apart.join(" "))).flatMap(({ lines }) => lines);
      for (const [at, line] of lines.slice(0, -1).entries()) {
        const [end = "", next = ""] = [line.split(" ").at(-1), lines[at + 1]?.split(" ")[0]];
        assert.doesNotMatch(
          end,
          /^(?:в|из|на|не|өте|без|8|701|123|45|120|жүз|жиырма|двадцать|15|және)$/,
          line,
        );
        assert.doesNotMatch(next, /^(?:үшін|да|млн|тысяч|наурыз)$/, lines[at + 1]);
      }
    }),
  );
});

function isNumeral(part: string): boolean {
  return NUMBERS.some((number) => part.startsWith(number));
}

test("the time for hours of speech grows linearly with their words", () => {
  const text = Array.from({ length: 20_000 }, (_, at) => (at % 11 === 10 ? "сөйлем." : "сөздер")).join(" ");
  assert.ok(readingCues(spoken(text)).length > 1_000);
});
