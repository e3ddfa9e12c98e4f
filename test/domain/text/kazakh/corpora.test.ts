import assert from "node:assert/strict";
import { test } from "node:test";
import { corpusLines } from "../../../../bench/support/corpora.js";
import { normalizeKazakh } from "../../../../core/domain/text/kazakh/normalize.js";
import { assertMapped } from "./word-map.js";

const FILES = [
  "kk-heldout.txt.br",
  "mixed-heldout.txt.br",
  "ru-heldout.txt.br",
  "kk-latin.txt.br",
  "kk-ru-mixed.txt.br",
  "kk.txt.br",
];
/** Number of lines in the gate. TEXT_LINES=200000 checks all of them. */
const LINES_PER_FILE = Number(process.env["TEXT_LINES"] ?? 2_000);

const NOT_OF_THE_MODEL = /[^аәбвгғдеёжзийкқлмнңоөпрстуұүфхһцчшщъыіьэюя ,.!?:;—-]/u;
/** Letters of both alphabets, digits, currency signs and signs that have names are never dropped. */
const SAYABLE = /[\p{Script=Cyrillic}A-Za-z\p{Nd}₸$€₽£%°№§+=&@]/u;

function linesOf(file: string): string[] {
  const lines = corpusLines(file);
  // Take lines evenly, because the corpora are sorted by source.
  const step = Math.max(1, Math.floor(lines.length / LINES_PER_FILE));
  return lines.filter((_, index) => index % step === 0);
}

test("corpus text becomes Kazakh letters only, without losing anything that can be spoken", (context) => {
  let lineCount = 0;
  const droppedCounts = new Map<string, number>();
  for (const line of FILES.flatMap(linesOf)) {
    const result = normalizeKazakh(line, { expand: true });
    assert.doesNotMatch(result.spoken, NOT_OF_THE_MODEL, line);
    assert.equal(normalizeKazakh(result.spoken, { expand: true }).spoken, result.spoken, line);
    assertMapped(line, result);
    for (const at of result.dropped) {
      const character = String.fromCodePoint(line.codePointAt(at) ?? 0);
      assert.doesNotMatch(character, SAYABLE, line);
      droppedCounts.set(character, (droppedCounts.get(character) ?? 0) + 1);
    }
    lineCount++;
  }
  const dropped = [...droppedCounts.values()].reduce((sum, count) => sum + count, 0);
  context.diagnostic(`${lineCount} lines, ${dropped} characters of ${droppedCounts.size} kinds dropped`);
  assert.ok(lineCount > 5_000);
});
