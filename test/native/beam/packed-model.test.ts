import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { LanguageModel } from "../../../core/domain/decoding/language-model.js";
import { PrefixBeamSearch } from "../../../core/domain/decoding/prefix-beam-search.js";
import { ServiceError } from "../../../core/domain/errors.js";
import { loadBinding } from "../../../native/beam/binding.js";
import { NativeBeamSearch, sharedModel } from "../../../native/beam/native-beam-search.js";
import { modelFile } from "../../domain/decoding/model-file.js";
import { temporaryFolder } from "../../support/folders.js";

const VOCABULARY = ["", " ", "а", "ә", "б", "в", "г"];
const WIDTH = VOCABULARY.length;
const FRAMES = 40;
const OPTIONS = { beamWidth: 24, languageModelWeight: 0.6, characterBonus: 0.8, wordBonus: 0.5 };
const { binding, missing } = loadBinding();
const skip = binding === null ? `no native search: ${missing}` : false;

let plain: Uint8Array;
let packed: Uint8Array;

before(async () => {
  const draw = generator(7);
  const texts = Array.from({ length: 60 }, () => Array.from({ length: 12 }, () => 1 + draw(WIDTH - 1)));
  const wordHashes = [...new Set(Array.from({ length: 500 }, () => draw(2 ** 32)))].sort((a, b) => a - b);
  plain = modelFile({ vocabulary: VOCABULARY, order: 5, texts, seed: 11, wordHashes: [0, ...wordHashes] });
  const folder = await temporaryFolder();
  writeFileSync(join(folder, "plain.bin"), gzipSync(plain));
  // This is the recipe's own program, which verifies its output.
  const paths = [join(folder, "plain.bin"), join(folder, "packed.bin")];
  execFileSync(process.execPath, ["models/recipes/language-model/pack.mjs", ...paths]);
  // This must be a plain array. A buffer's `slice` is a view, so damage to it would spread to the file of
  // later tests.
  packed = new Uint8Array(gunzipSync(readFileSync(join(folder, "packed.bin"))));
});

test("a packed model has the same states, arcs, weights and words as the plain one", () => {
  const [one, other] = [LanguageModel.parse(plain), LanguageModel.parse(packed)];
  assert.equal(new TextDecoder().decode(packed.subarray(0, 4)), "DLM2");
  assert.equal(other.memoryBytes, one.memoryBytes);
  const seen = new Set([0]);
  for (const state of seen) {
    for (let token = 0; token < WIDTH; token++) {
      const next = one.advance(state, token);
      assert.deepEqual(
        [other.advance(state, token), other.logProb],
        [next, one.logProb],
        `${state} ${token}`,
      );
      seen.add(next);
    }
  }
  assert.ok(seen.size > 500, `${seen.size} states`);
  assert.ok([0, 4_294_967_295, 1_000].every((hash) => one.hasWord(hash) === other.hasWord(hash)));
});

test("the native search with a packed model equals the reference with the plain one", {
  skip,
}, async () => {
  const model = await sharedModel(binding!, "packed-model-test", VOCABULARY, async () => packed);
  const native = new NativeBeamSearch(binding!, VOCABULARY, model, OPTIONS);
  const reference = new PrefixBeamSearch(VOCABULARY, LanguageModel.parse(plain), OPTIONS);
  const draw = generator(3);
  for (let round = 0; round < 20; round++) {
    const logProbs = Float32Array.from({ length: FRAMES * WIDTH }, () => -draw(1_000) / 100);
    const [found, expected] = [native, reference].map((search) =>
      search.search(logProbs.slice(), FRAMES, null).map(({ tokens, score }) => [Array.from(tokens), score]),
    );
    assert.deepEqual(found, expected);
  }
});

test("both readers reject a damaged packed file or read it safely", { skip }, async () => {
  const draw = generator(5);
  const sections = 8 + new DataView(packed.buffer, packed.byteOffset).getUint32(4, true);
  let refused = 0;
  for (let round = 0; round < 150; round++) {
    const damaged = packed.slice(0, packed.length - (round % 3));
    // Half of the damage affects the symbols at the end.
    const from = round % 2 === 0 ? sections : damaged.length - 2_000;
    damaged[from + draw(damaged.length - from)]! ^= 1 + draw(255);
    const readers = [
      () => Promise.resolve(LanguageModel.parse(damaged)),
      () => sharedModel(binding!, `packed-damaged-${round}`, VOCABULARY, async () => damaged),
    ];
    for (const read of readers) {
      try {
        await read();
      } catch (error) {
        assert.ok(error instanceof ServiceError && error.code === "MODEL_BROKEN", String(error));
        refused++;
      }
    }
  }
  assert.ok(refused > 200, `${refused} of 300 refused`);
});

/** Returns both readers of a file. The native one keeps models by their key. */
function readersOf(bytes: Uint8Array, key: string): readonly (() => Promise<unknown>)[] {
  return [
    async () => LanguageModel.parse(bytes),
    () => sharedModel(binding!, key, VOCABULARY, async () => bytes),
  ];
}

function isBroken(rule: RegExp): (error: unknown) => boolean {
  return (error) =>
    error instanceof ServiceError && error.code === "MODEL_BROKEN" && rule.test(error.message);
}

test("a truncated file is reported as such", { skip }, async () => {
  for (const read of readersOf(packed.slice(0, packed.length - 40), "packed-cut")) {
    await assert.rejects(read, isBroken(/it is cut short/));
  }
});

test("counts beyond the file's size are rejected before memory is allocated", {
  skip,
}, async () => {
  for (const [bytes, name] of [
    [packed, "wordCount"],
    [packed, "arcCount"],
    [plain, "wordCount"],
  ] as const) {
    const counted = withHeader(bytes, { [name]: 4_000_000_000 });
    for (const read of readersOf(counted, `counts-${name}`)) {
      await assert.rejects(read, isBroken(/must be|must have|too short|cut short/), name);
    }
  }
});

/** Returns the file with other values in its header. */
function withHeader(bytes: Uint8Array, changes: object): Uint8Array {
  const file = Buffer.from(bytes);
  const end = 8 + file.readUInt32LE(4);
  const text = JSON.stringify({ ...JSON.parse(file.toString("utf8", 8, end)), ...changes });
  const length = Buffer.alloc(4);
  length.writeUInt32LE(Buffer.byteLength(text));
  return Buffer.concat([file.subarray(0, 4), length, Buffer.from(text), file.subarray(end)]);
}

function generator(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}
