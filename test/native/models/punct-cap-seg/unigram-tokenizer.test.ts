import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { brotliDecompressSync } from "node:zlib";
import { corpusLines } from "../../../../bench/support/corpora.js";
import { UnigramTokenizer } from "../../../../native/models/punct-cap-seg/unigram-tokenizer.js";

/**
 * Models, and how python3-sentencepiece 0.1.97 splits texts with them, made by
 * `recipes/adapters/punct_cap_seg.py`.
 */
const FIXTURES = "test/fixtures/sentencepiece";
const TINY = readFileSync("test/fixtures/adapters/tiny-punct-cap-seg/tokenizer.model");
const NMT_NFKC = unpacked("nmt-nfkc.model.br");

type Ids = readonly (readonly number[])[];
const encodings = JSON.parse(unpacked("encodings.json.br").toString()) as {
  readonly edges: readonly string[];
  readonly tiny: Readonly<Record<string, Ids>>;
  readonly nmtNfkc: Readonly<Record<string, Ids>>;
};

function unpacked(name: string): Buffer {
  return brotliDecompressSync(readFileSync(`${FIXTURES}/${name}`));
}

for (const [name, bytes, expected] of [
  ["rules of its own", TINY, encodings.tiny],
  ["nmt_nfkc", NMT_NFKC, encodings.nmtNfkc],
] as const) {
  const tokenizer = new UnigramTokenizer(bytes);
  const idsOf = (text: string) => tokenizer.encode(text).map(({ id }) => id);
  for (const file of ["kk-heldout", "ru-heldout", "mixed-heldout", "kk-latin"]) {
    test(`encodes ${file} as SentencePiece does, with ${name}`, () => {
      const ids = expected[file]!;
      for (const [at, line] of corpusLines(`${file}.txt.br`).slice(0, ids.length).entries())
        assert.deepEqual(idsOf(line), ids[at], line);
    });
  }
  test(`encodes odd characters and spaces as SentencePiece does, with ${name}`, () => {
    for (const [at, text] of encodings.edges.entries())
      assert.deepEqual(idsOf(text), expected["edges"]![at], JSON.stringify(text));
  });
}

test("words alone have the pieces that they have in a line", () => {
  const tokenizer = new UnigramTokenizer(NMT_NFKC);
  for (const line of corpusLines("ru-heldout.txt.br")) {
    const words = line.split(" ").filter((word) => word !== "");
    assert.deepEqual(
      words.flatMap((word) => tokenizer.encode(word)),
      tokenizer.encode(line),
    );
  }
});

test("a file that is no such model is rejected with the reason", () => {
  for (const [bytes, reason] of [
    [Buffer.alloc(0), /no pieces/],
    [Buffer.from("not a model at all"), /./],
    [TINY.subarray(0, TINY.length >> 1), /./],
  ] as const)
    assert.throws(() => new UnigramTokenizer(bytes), reason);
  // Field 3 of the trainer settings says byte pairs instead of unigrams.
  const pairs = Buffer.concat([TINY, Buffer.from([0x12, 2, 0x18, 2])]);
  assert.throws(() => new UnigramTokenizer(pairs), /must be unigrams/);
});
