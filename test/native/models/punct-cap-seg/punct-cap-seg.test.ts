import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { brotliDecompressSync } from "node:zlib";
import fc from "fast-check";
import { displayedWords, displayLine } from "../../../../core/domain/text/display/display-text.js";
import { punctuationFamilyOf } from "../../../../native/models/families.js";
import { readPackage } from "../../../../native/models/find-packages.js";
import type { PunctuationManifest } from "../../../../native/models/manifest.js";
import { tokenWindows } from "../../../../native/models/punct-cap-seg/token-windows.js";
import { type TokenLabels, wordLabels } from "../../../../native/models/punct-cap-seg/word-labels.js";
import type { PunctuationModel } from "../../../../native/models/punctuation-model.js";
import { changeManifest, copyOfPackage } from "../../../support/folders.js";

const TINY = "test/fixtures/adapters/tiny-punct-cap-seg";

async function load(folder: string): Promise<PunctuationModel> {
  const model = await readPackage<PunctuationManifest>(folder, "punctuation");
  return await punctuationFamilyOf(model.manifest).load(model, { intraOpThreads: 1 });
}

let model: PunctuationModel;
before(async () => {
  model = await load(TINY);
});
after(() => model.release());

/**
 * Words with the punctuation and capitals that a plain reading of the labels gives, from one run over all of
 * them.
 */
const reference = JSON.parse(
  brotliDecompressSync(readFileSync("test/fixtures/sentencepiece/plain-reading.json.br")).toString(),
) as { readonly words: readonly string[]; readonly read: readonly (readonly [string, string])[] };

test("a long text read in windows has the labels of one run", async () => {
  const { words, read } = reference;
  const { marks, cases, spellings } = await model.read(words);
  for (const [at, word] of words.entries()) {
    const written = spellings![at] ?? displayedAs(word, cases[at]!);
    const [spelled, mark] = read[at]!;
    // A full stop that does not end a sentence belongs to the word.
    const shown = mark === "." && marks[at] === "" ? `${spelled}.` : spelled;
    assert.deepEqual([written, marks[at]], [shown, shown === spelled ? mark : ""], word);
  }
  for (const mark of [",", ".", "?"])
    assert.ok(
      marks.some((each) => each === mark),
      mark,
    );
  assert.ok(spellings!.some((each) => each !== null));
});

function displayedAs(word: string, as: string): string {
  if (as === "upper") return word.toUpperCase();
  return as === "capital" ? word.charAt(0).toUpperCase() + word.slice(1) : word;
}

test("no words, empty words and words of unknown letters can be read", async () => {
  assert.deepEqual(await model.read([]), { marks: [], cases: [], stops: [], spellings: [] });
  const odd = ["", "漢字", "\u200b", "сәлем"];
  const { marks, cases, stops } = await model.read(odd);
  assert.deepEqual([marks.length, cases.length, stops.length], [4, 4, 4]);
  assert.deepEqual([marks[0], cases[0]], ["", "lower"]);
});

const token = (
  text: string,
  post: TokenLabels["post"],
  capitals: readonly number[] = [],
  isEnd = false,
): TokenLabels => ({
  ...{ text, post, isEnd },
  capitals: Array.from(text, (_, at) => capitals.includes(at)),
});

for (const [what, word, tokens, isLast, expected] of [
  ["a name", "алматы", [token("▁алма", "<NULL>", [1]), token("ты", ",")], false, [",", "capital", null]],
  [
    "a name of two parts",
    "алма-ата",
    [token("▁алма", "<NULL>", [1]), token("-", "<NULL>"), token("ата", "<NULL>", [0])],
    false,
    ["", "capital", "Алма-Ата"],
  ],
  ["an acronym", "кгб", [token("▁кгб", "<NULL>", [1, 2, 3])], false, ["", "upper", null]],
  [
    "an acronym with full stops",
    "сша",
    [token("▁сша", "<ACRONYM>", [1, 2, 3])],
    false,
    ["", "upper", "С.Ш.А."],
  ],
  [
    "capitals inside",
    "еуроазэс",
    [token("▁еуро", "<NULL>", [1]), token("азэс", "<NULL>", [0, 1, 3])],
    false,
    ["", "capital", "ЕуроАЗэС"],
  ],
  ["an abbreviation", "обл", [token("▁обл", ".")], false, ["", "lower", "обл."]],
  ["the last word", "обл", [token("▁обл", ".")], true, [".", "lower", null]],
  ["the end of a sentence", "болды", [token("▁болды", "।", [], true)], false, [".", "lower", null]],
  ["a Greek question mark", "ма", [token("▁ма", ";")], false, ["?", "lower", null]],
  ["a mark inside a word", "болды", [token("▁бол", "."), token("ды", "<NULL>")], false, ["", "lower", null]],
  ["one letter", "я", [token("▁", "<NULL>", [0]), token("я", "<NULL>", [0])], false, ["", "capital", null]],
  [
    "a word that normalization made longer",
    "№5",
    [token("▁no", "<NULL>", [1, 2]), token("5", ",")],
    false,
    [",", "lower", null],
  ],
  ["no pieces", "\u200b", [], false, ["", "lower", null]],
] as const) {
  test(`the labels of ${what} are combined`, () => {
    const { mark, case: as, spelling } = wordLabels(word, tokens, isLast);
    assert.deepEqual([mark, as, spelling], expected);
  });
}

test("capitals inside a word and abbreviations reach the displayed text, also at the start of a sentence", () => {
  const words = ["алма-ата", "обл", "жиырма", "бес", "еуроазэс"];
  const marks = ["", "", "", ".", ""] as const;
  const cases = ["capital", "lower", "lower", "lower", "lower"] as const;
  const spellings = ["Алма-Ата", "обл.", null, null, "еуроАЗЭС"];
  const displayed = displayedWords(words, { marks, cases, stops: [], spellings }, { numerals: "auto" });
  assert.equal(displayLine(displayed.map(({ text }) => text)), "Алма-Ата обл. 25. ЕуроАЗЭС");
});

test("windows keep every token once, in order, and share their overlap", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 32, max: 300 }), (count, longest) => {
      const windows = tokenWindows(count, longest, 16);
      assert.deepEqual(
        windows.flatMap(({ from, to }) => range(from, to)),
        range(0, count),
      );
      for (const { first, end, from, to } of windows)
        assert.ok(end - first <= longest && first <= from && to <= end);
      for (const [at, { first }] of windows.entries())
        if (at > 0) assert.equal(windows[at - 1]!.end - first, 16);
    }),
  );
});

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, at) => from + at);
}

for (const [what, change, rule] of [
  ["an unknown label", { postLabels: ["<NULL>", "!"] }, /postLabels.1 must be one of .*, found !/],
  ["no labels", { postLabels: undefined }, /postLabels must be a list of marks/],
  ["no length", { longestTokens: undefined }, /longestTokens must be a whole number of at least 8/],
  ["an overlap beyond half", { overlapTokens: 17 }, /overlapTokens must be at most half of longestTokens/],
  ["no tokenizer", { files: {} }, /files must list "model"/],
] as const) {
  test(`a manifest with ${what} is rejected`, async () => {
    const folder = await copyOfPackage(TINY);
    await changeManifest(folder, (manifest) => ({ ...manifest, ...change }));
    await assert.rejects(readPackage(folder, "punctuation"), rule);
  });
}

test("a damaged tokenizer and a graph with other outputs are rejected by name", async () => {
  const damaged = await copyOfPackage(TINY);
  await writeFile(join(damaged, "tokenizer.model"), "nothing");
  await assert.rejects(load(damaged), /sha256 of .*tokenizer\.model must be/);
  const other = await copyOfPackage("models/punctuation-v1");
  await changeManifest(other, ({ files, ...manifest }) => {
    const { marks } = files as Record<string, object>;
    const tokenizer = JSON.parse(readFileSync(`${TINY}/manifest.json`, "utf8")).files.tokenizer;
    const fields = { family: "punct-cap-seg", longestTokens: 32, postLabels: ["<NULL>"] };
    return { ...manifest, ...fields, files: { model: marks, tokenizer } } as never;
  });
  await writeFile(join(other, "tokenizer.model"), readFileSync(`${TINY}/tokenizer.model`));
  await assert.rejects(load(other), /marks\.onnx: inputs must contain input_ids, found/);
});
