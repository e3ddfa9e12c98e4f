import assert from "node:assert/strict";
import { test } from "node:test";
import { displayLine } from "../../../../core/domain/text/display/display-text.js";
import { decidePunctuation } from "../../../../core/domain/text/display/marks.js";
import { type ReadingTask, readWords } from "../../../../core/domain/text/display/reading.js";

const TASK: Omit<ReadingTask, "words"> = {
  ...{ display: true, numerals: "auto", redact: [], isWritten: true },
  ...{ pauses: null, context: 0, previous: "none", isOver: true },
};

function lineOf(text: string, task: Partial<ReadingTask> = {}): string {
  const words = text.split(" ");
  const { pieces } = readWords({ ...TASK, ...task, words }, null);
  assert.deepEqual(
    pieces.flatMap(({ first, end }) => Array.from({ length: end - first }, (_, at) => first + at)),
    words.map((_, at) => at),
    "every word once",
  );
  return displayLine(pieces.map(({ text: shown }) => shown)).replaceAll("\u00a0", " ");
}

const WRITTEN = "Сәлем, Айгүл! Ол екі мың жиырма алтыншы жылы келді. Қайда?";

test("text that a recogniser has punctuated stays unchanged", () => {
  assert.equal(lineOf(WRITTEN), WRITTEN);
  assert.equal(lineOf(WRITTEN, { numerals: "none" }), WRITTEN);
  assert.equal(lineOf("без точки в конце"), "без точки в конце");
});

test("its numbers become digits if the client requests all of them, and keep the punctuation after them", () => {
  assert.equal(lineOf(WRITTEN, { numerals: "all" }), "Сәлем, Айгүл! Ол 2026 жылы келді. Қайда?");
  assert.equal(
    lineOf("Нажмите два, три. Это стоит сто двадцать тысяч.", { numerals: "all" }),
    "Нажмите 2, 3. Это стоит 120 000.",
  );
});

test("no number continues after punctuation", () => {
  assert.equal(lineOf("Двадцать, пять тысяч.", { numerals: "all" }), "20, 5000.");
  assert.equal(
    lineOf("Конечно, он, что пришёл, хочет этого.", { numerals: "all" }),
    "Конечно, он, что пришёл, хочет этого.",
  );
});

test("personal data is masked in it", () => {
  const phone = "Менің телефоным: сегіз жеті жүз жеті, жүз жиырма үш, қырық бес, алпыс жеті. Рақмет!";
  assert.equal(lineOf(phone, { redact: ["phone"] }), "Менің телефоным: [PHONE]. Рақмет!");
});

test("it is joined to the previous text with a space, and no punctuation follows", () => {
  const task = { ...TASK, words: ["ол", "Келді."], context: 1, previous: "open", isOver: false } as const;
  const { before, stop, pieces } = readWords(
    task,
    decidePunctuation(new Float32Array(14), new Float32Array(6)),
  );
  assert.deepEqual([before, stop, pieces.map(({ text }) => text)], [" ", "", ["Келді."]]);
});
