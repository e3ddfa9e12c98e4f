import assert from "node:assert/strict";
import { test } from "node:test";
import { alphabetOf, copyRows, parseTokens } from "../../../native/models/tokens.js";

test("the blank comes first wherever it stood, and everything else keeps its order", () => {
  const last = parseTokens("  0\nа 1\nб 2\n<blk> 3\n");
  assert.deepEqual(last.vocabulary, ["", " ", "а", "б"]);
  assert.deepEqual([...last.columns], [3, 0, 1, 2]);
  const first = parseTokens("<blk> 0\n<sos/eos> 1\n<unk> 2\n▁дүние 3\n▁ 4\nс 5\n");
  assert.deepEqual(first.vocabulary, ["", "", "", " дүние", " ", "с"]);
  assert.deepEqual([...first.columns], [0, 1, 2, 3, 4, 5]);
});

test("lines may come in any order, with carriage returns and without an end", () => {
  assert.deepEqual(parseTokens("б 1\r\n<blk> 2\r\nа 0").vocabulary, ["", "а", "б"]);
});

for (const [text, message] of [
  ["а 0\nб 1\n", /one symbol must be the blank/],
  ["<blk> 0\nа 2\n", /number 1 has no symbol/],
  ["<blk> 0\nа 0\n", /line 2: number 0 is taken/],
  ["<blk> 0\nа\n", /line 2 must be a symbol and its number, found "а"/],
  ["", /one symbol must be the blank/],
] as const) {
  test(`tokens ${JSON.stringify(text)} are refused`, () => {
    assert.throws(() => parseTokens(text), message);
  });
}

test("rows are copied column by column", () => {
  const target = new Float32Array(8).fill(-1);
  copyRows(Float32Array.of(1, 2, 3, 4, 5, 6), Int32Array.of(2, 0, 1), target, 1);
  assert.deepEqual(target, Float32Array.of(-1, 3, 1, 2, 6, 4, 5, -1));
});

test("hot words have an alphabet where all outputs are characters, and none among pieces", () => {
  assert.deepEqual([...alphabetOf(["", " ", "а", "", "ә"])], [" ", "а", "ә"]);
  assert.equal(alphabetOf(["", " ", "а", " сә"]).size, 0);
  assert.equal(alphabetOf(["", "а", "ә"]).size, 0);
});
