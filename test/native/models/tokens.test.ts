import assert from "node:assert/strict";
import { test } from "node:test";
import { alphabetOf, copyRows, parseTokens, writesMarks } from "../../../native/models/tokens.js";

test("the blank is moved to the front and all other symbols keep their order", () => {
  const last = parseTokens("  0\nа 1\nб 2\n<blk> 3\n");
  assert.deepEqual(last.vocabulary, ["", " ", "а", "б"]);
  assert.deepEqual([...last.columns], [3, 0, 1, 2]);
  const first = parseTokens("<blk> 0\n<sos/eos> 1\n<unk> 2\n▁дүние 3\n▁ 4\nс 5\n");
  assert.deepEqual(first.vocabulary, ["", "", "", " дүние", " ", "с"]);
  assert.deepEqual([...first.columns], [0, 1, 2, 3, 4, 5]);
});

test("lines may have any order, carriage returns, and no final newline", () => {
  assert.deepEqual(parseTokens("б 1\r\n<blk> 2\r\nа 0").vocabulary, ["", "а", "б"]);
});

for (const [text, message] of [
  ["а 0\nб 1\n", /one symbol must be the blank/],
  ["<blk> 0\nа 2\n", /number 1 has no symbol/],
  ["<blk> 0\nа 0\n", /line 2: number 0 is taken/],
  ["<blk> 0\nа\n", /line 2 must be a symbol and its number, found "а"/],
  ["", /one symbol must be the blank/],
] as const) {
  test(`tokens ${JSON.stringify(text)} are rejected`, () => {
    assert.throws(() => parseTokens(text), message);
  });
}

test("rows are copied column by column", () => {
  const target = new Float32Array(6);
  copyRows(Float32Array.of(1, 2, 3, 4, 5, 6), parseTokens("а 0\nб 1\n<blk> 2"), target);
  assert.deepEqual(target, Float32Array.of(3, 1, 2, 6, 4, 5));
});

test("probabilities are renormalized without masked outputs", () => {
  const tokens = parseTokens("▁ 0\na 1\nа 2\nb 3\n<blk> 4", ["a", "b"]);
  assert.deepEqual(tokens.vocabulary, ["", " ", "а"]);
  const target = new Float32Array(6);
  const rows = [0.1, 0.5, 0.2, 0.1, 0.1, 0, 0.9, 0.05, 0.05, 0].map(Math.log);
  copyRows(Float32Array.from(rows), tokens, target);
  const found = [...target].map((logProb) => Number(Math.exp(logProb).toFixed(5)));
  assert.deepEqual(found, [0.25, 0.25, 0.5, 0, 0, 1]);
});

test("any symbol of the vocabulary can be masked, except the blank", () => {
  for (const symbol of ["x", "<blk>"]) {
    const rule = new RegExp(
      `maskedOutputs must be symbols of the vocabulary other than the blank, found "${symbol}"`,
    );
    assert.throws(() => parseTokens("▁ 0\nа 1\n<blk> 2", [symbol]), rule);
  }
});

test("hot words use the unmasked alphabets", () => {
  const alphabet = (first: string, count: number) =>
    Array.from({ length: count }, (_, i) => String.fromCodePoint(first.codePointAt(0)! + i));
  const latin = alphabet("a", 26);
  // This is like the multilingual GigaAM: 71 outputs, with the space written as in word pieces and the blank
  // last.
  const symbols = ["▁", ...latin, ...alphabet("а", 32), "ё", ..."әіңғүұқөһ'", "<blk>"];
  assert.equal(symbols.length, 71);
  const text = symbols.map((symbol, i) => `${symbol} ${i}`).join("\n");
  assert.equal(parseTokens(text).columns[0], 70);
  const { vocabulary, width } = parseTokens(text, latin);
  assert.equal(width, 71);
  assert.deepEqual(alphabetOf(vocabulary), new Set([" ", ...alphabet("а", 32), ..."ёәіңғүұқөһ'"]));
});

test("hot words use the letters of the outputs, in lower case if these are word pieces", () => {
  assert.deepEqual([...alphabetOf(["", " ", "а", "", "ә"])], [" ", "а", "ә"]);
  assert.deepEqual([...alphabetOf(["", "а", " Сә"])], ["а", " ", "с", "ә"]);
  assert.deepEqual([...alphabetOf(["", " ", "А"])], [" ", "А"]);
  assert.equal(alphabetOf(["", "а", "ә"]).size, 0);
});

test("a model writes punctuation if its vocabulary has it, or has letters in both cases", () => {
  for (const vocabulary of [["", " ", "а", "-", "ә"], ["", " сә", "лем"], ["", " BANK", "ER"], []]) {
    assert.equal(writesMarks(vocabulary), false, vocabulary.join());
  }
  for (const vocabulary of [
    ["", " сә", "лем", "."],
    ["", "а", "?"],
    ["", " Сә", "лем"],
  ]) {
    assert.equal(writesMarks(vocabulary), true, vocabulary.join());
  }
});
