import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import test from "node:test";
import { HotWords } from "../../../core/domain/decoding/hot-words.js";
import { LanguageModel } from "../../../core/domain/decoding/language-model.js";
import { EMPTY_WORD_HASH, extendWordHash } from "../../../core/domain/decoding/lexicon.js";
import {
  type BeamSearchOptions,
  PrefixBeamSearch,
} from "../../../core/domain/decoding/prefix-beam-search.js";
import { ServiceError } from "../../../core/domain/errors.js";
import { loadBinding, type NativeModel, type NativeSearch } from "../../../native/beam/binding.js";
import { NativeBeamSearch, sharedModel } from "../../../native/beam/native-beam-search.js";
import { modelFile } from "../../domain/decoding/model-file.js";
import { logProbsOf } from "../../domain/decoding/reference.js";
import * as fc from "../../support/properties.js";

const VOCABULARY = ["", " ", "а", "б", "в"];
const WIDTH = VOCABULARY.length;
const { binding } = loadBinding();
const skip = binding === null ? "the addon is not built" : false;
let nextKey = 0;

const letter = fc.integer({ min: 2, max: WIDTH - 1 });
const word = fc.array(letter, { minLength: 1, maxLength: 5 });
const output = fc.integer({ min: 1, max: WIDTH - 1 });
const modelFiles = fc.record({
  order: fc.integer({ min: 1, max: 5 }),
  texts: fc.array(fc.array(output, { minLength: 1, maxLength: 12 }), { maxLength: 8 }),
  seed: fc.nat(),
  words: fc.array(word, { maxLength: 6 }),
});
const options = fc.record({
  beamWidth: fc.integer({ min: 1, max: 12 }),
  languageModelWeight: fc.double({ min: 0, max: 1.5, noNaN: true }),
  characterBonus: fc.double({ min: -1, max: 2, noNaN: true }),
  wordBonus: fc.double({ min: -1, max: 2, noNaN: true }),
  candidatesPerFrame: fc.integer({ min: 1, max: WIDTH }),
  candidateFloor: fc.constantFrom(Number.NEGATIVE_INFINITY, -9, -2),
  beamMargin: fc.constantFrom(Number.POSITIVE_INFINITY, 8, 2),
});
const phrases = fc.array(
  fc.record({
    text: fc
      .array(word, { minLength: 1, maxLength: 2 })
      .map((words) => words.map((tokens) => tokens.map((token) => VOCABULARY[token]).join("")).join(" ")),
    characterScore: fc.double({ min: 0, max: 5, noNaN: true }),
  }),
  { maxLength: 6 },
);
/** Weights of outputs, either peaked like a recogniser's or flat. Zero weights become impossible outputs. */
const audio = fc.integer({ min: 0, max: 30 }).chain((frames) =>
  fc.array(fc.oneof(fc.double({ min: 1e-6, max: 1, noNaN: true }), fc.constantFrom(0, 1e-5, 0.5, 1)), {
    minLength: frames * WIDTH,
    maxLength: frames * WIDTH,
  }),
);

test("the native search is bit-identical to the reference", { skip }, async () => {
  await fc.assert(
    fc.asyncProperty(
      modelFiles,
      options,
      phrases,
      audio,
      fc.boolean(),
      async (file, search, hot, weights, has) => {
        const logProbs = possible(weights);
        const hotWords = HotWords.compile(hot, VOCABULARY);
        const { native, reference } = await searchesOf(has ? fileOf(file) : null, search);
        const frames = weights.length / WIDTH;
        const expected = reference.search(logProbs, frames, hotWords);
        // There are two rounds, because the workspace is reused.
        for (let round = 0; round < 2; round++) {
          const found = native.search(logProbs, frames, hotWords);
          assert.deepEqual(plain(found), plain(expected));
        }
      },
    ),
    { numRuns: Number(process.env["BEAM_RUNS"] ?? 500) },
  );
});

test("both searches agree on a growing text", { skip }, async () => {
  await fc.assert(
    fc.asyncProperty(
      modelFiles,
      options,
      audio,
      fc.array(fc.nat({ max: 29 }), { maxLength: 3 }),
      async (file, search, weights, keptAt) => {
        const logProbs = possible(weights);
        const { native, reference } = await searchesOf(fileOf(file), search);
        const ways = [native.growing(6)!, reference.growing(6)!];
        // There are two rounds, because the workspace is reused. The others share the results of its model.
        for (let round = 0; round < 2; round++) {
          const results = ways.map((growing) => {
            growing.begin();
            return Array.from({ length: logProbs.length / WIDTH }, (_, frame) => {
              const best = growing.push(logProbs.subarray(frame * WIDTH, (frame + 1) * WIDTH));
              if (keptAt.includes(frame)) growing.keepBestText();
              const { tokens, settled } = growing.grown();
              return { best, tokens: Array.from(tokens), settled };
            });
          });
          assert.deepEqual(results[0], results[1]);
        }
      },
    ),
    { numRuns: 200 },
  );
});

test("texts stay the same when many frames outgrow the native workspace", { skip }, async () => {
  const frames = 600;
  let seed = 7;
  const weights = Array.from({ length: frames * WIDTH }, () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return 0.01 + seed / 2 ** 32;
  });
  const file = modelFile({
    vocabulary: VOCABULARY,
    order: 3,
    texts: [[2, 3, 1, 4]],
    seed: 1,
    wordHashes: [],
  });
  const search = { beamWidth: 40, languageModelWeight: 0.4, characterBonus: 0.9, wordBonus: 0.5 };
  const { native, reference } = await searchesOf(file, search);
  const logProbs = logProbsOf(weights, WIDTH);
  assert.deepEqual(
    plain(native.search(logProbs, frames, null)),
    plain(reference.search(logProbs, frames, null)),
  );
});

test("NaN and infinite log-probs neither crash nor hang the native search", { skip }, async () => {
  const { native } = await searchesOf(null, {
    beamWidth: 8,
    languageModelWeight: 1,
    characterBonus: 0,
    wordBonus: 0,
  });
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    const logProbs = new Float32Array(20 * WIDTH).fill(value);
    assert.ok(native.search(logProbs, 20, null).length >= 1);
    logProbs.fill(-1, 0, 50);
    assert.ok(native.search(logProbs, 20, null).length >= 1);
  }
});

test("a model is read once", { skip }, async () => {
  const file = modelFile({ vocabulary: VOCABULARY, order: 2, texts: [[2, 3]], seed: 3, wordHashes: [9] });
  let readCount = 0;
  const read = async () => {
    readCount++;
    return file;
  };
  const first = await sharedModel(binding!, "read-once-test", VOCABULARY, read);
  const second = await sharedModel(binding!, "read-once-test", VOCABULARY, read);
  assert.equal(readCount, 1);
  assert.equal(binding!.modelBytes(first), binding!.modelBytes(second));
});

test("a damaged model file is rejected or harmless", { skip }, async () => {
  await fc.assert(
    fc.asyncProperty(
      modelFiles,
      fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 4 }),
      fc.nat(),
      audio,
      async (parts, flips, cut, weights) => {
        const file = fileOf(parts);
        const damaged = file.slice(0, file.length - (cut % 4));
        // The header is JSON protected by a hash. The data after it must be checked separately.
        const sections = 8 + new DataView(file.buffer).getUint32(4, true);
        for (const [at, value] of flips) damaged[sections + (at % (damaged.length - sections))] = value;
        let model: NativeModel;
        try {
          model = await sharedModel(binding!, `damaged-${nextKey++}`, VOCABULARY, async () => damaged);
        } catch (error) {
          assert.ok(error instanceof ServiceError && error.code === "MODEL_BROKEN");
          return;
        }
        const native = new NativeBeamSearch(binding!, VOCABULARY, model, {
          ...{ beamWidth: 4, languageModelWeight: 1, characterBonus: 1, wordBonus: 1 },
        });
        native.search(possible(weights), weights.length / WIDTH, null);
      },
    ),
    { numRuns: 200 },
  );
});

test("concurrent searches on other threads find the same texts, even with an output bias", {
  skip,
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      modelFiles,
      fc.array(audio, { minLength: 1, maxLength: 6 }),
      fc.option(fc.array(fc.float({ min: -2, max: 2, noNaN: true }), { minLength: WIDTH, maxLength: WIDTH })),
      async (parts, utterances, bias) => {
        const { native } = await searchesOf(fileOf(parts), {
          ...{ beamWidth: 8, languageModelWeight: 0.7, characterBonus: 0.5, wordBonus: 0.3 },
        });
        const outputBias = bias === null ? null : Float32Array.from(bias);
        const heard = utterances.map(possible);
        const aside = heard.map((logProbs) =>
          native.searchAside(logProbs, logProbs.length / WIDTH, null, outputBias),
        );
        // This search runs while the others are running.
        const here = heard.map((logProbs) => {
          const biased = logProbs.map((logProb, i) => logProb + (outputBias?.[i % WIDTH] ?? 0));
          return plain(native.search(biased, logProbs.length / WIDTH, null));
        });
        assert.deepEqual((await Promise.all(aside)).map(plain), here);
      },
    ),
    { numRuns: 100 },
  );
});

test("a failed search on another thread does not block later ones", { skip }, async () => {
  const { native } = await searchesOf(null, {
    beamWidth: 4,
    languageModelWeight: 0,
    characterBonus: 0,
    wordBonus: 0,
  });
  const logProbs = new Float32Array(2 * WIDTH).fill(-1);
  const failed = native.searchAside(logProbs, 3, null, null);
  const wrongBias = native.searchAside(logProbs, 2, null, new Float32Array(WIDTH + 1));
  const found = native.searchAside(logProbs, 2, null, null);
  await assert.rejects(failed, /logProbs must hold all frames/);
  await assert.rejects(wrongBias, /outputBias must have one value per output/);
  assert.deepEqual(plain(await found), plain(native.search(logProbs, 2, null)));
});

test("a search on another thread ends once its stop flag is set, and blocks no later one", {
  skip,
}, async () => {
  const options = { beamWidth: 64, languageModelWeight: 0, characterBonus: 0, wordBonus: 0 };
  const { native } = await searchesOf(null, options);
  const frames = 200_000;
  const endless = new Float32Array(frames * WIDTH).fill(-1);
  const stop = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const running = native.searchAside(endless, frames, null, null, stop);
  const queued = native.searchAside(endless, frames, null, null, stop);
  const later = native.searchAside(endless, 2, null, null, new Int32Array(1));
  await new Promise((resolve) => setImmediate(resolve));
  Atomics.store(stop, 0, 1);
  await assert.rejects(running, { code: "CANCELLED" });
  await assert.rejects(queued, { code: "CANCELLED" });
  assert.deepEqual(plain(await later), plain(native.search(endless, 2, null)));
});

test("a running search cannot be reused", { skip }, async () => {
  const search = smallSearch();
  const logProbs = new Float32Array(3 * 2_000).fill(-1);
  const atWork = binding!.searchAside(search, logProbs, 2_000, null, null, null);
  assert.throws(() => binding!.search(search, logProbs, 1, null), /busy with another utterance/);
  assert.throws(
    () => binding!.searchAside(search, logProbs, 1, null, null, null),
    /busy with another utterance/,
  );
  await atWork;
  assert.ok(binding!.search(search, logProbs, 1, null).scores.length > 0);
});

test("wrong arguments are errors, not crashes", { skip }, async () => {
  const search = smallSearch();
  const addon = binding as unknown as Record<string, (...values: unknown[]) => unknown>;
  const hotWords = HotWords.compile([{ text: "а", characterScore: 1 }], VOCABULARY)!;
  const calls: readonly [string, readonly unknown[]][] = [
    ["search", []],
    ["search", [{}, new Float32Array(3), 1, null]],
    ["search", [search, new Float64Array(3), 1, null]],
    ["search", [search, new Float32Array(3), 2, null]],
    ["search", [search, new Float32Array(3), -1, null]],
    ["search", [search, new Float32Array(3), 1, {}]],
    ["search", [search, new Float32Array(3), 1, { ...arraysOf(hotWords), suffix: new Int32Array(1) }]],
    [
      "search",
      [search, new Float32Array(3), 1, { ...arraysOf(hotWords), suffix: new Int32Array([0, 2, 1]) }],
    ],
    [
      "search",
      [search, new Float32Array(3), 1, { ...arraysOf(hotWords), arcTargets: new Int32Array([1, 9]) }],
    ],
    ["search", [search, new Float32Array(3), 1, { ...arraysOf(hotWords), startState: 3 }]],
    ["searchAside", []],
    ["searchAside", [search, new Float32Array(3), 2, null, null]],
    ["searchAside", [search, new Float32Array(3), 1, {}, null]],
    ["searchAside", [search, new Float32Array(3), 1, null, new Float64Array(3)]],
    ["searchAside", [search, new Float32Array(3), 1, null, null, new Float32Array(1)]],
    ["searchAside", [search, new Float32Array(3), 1, null, null, new Int32Array(0)]],
    ["withBeam", [search, 4_097]],
    ["withBeam", [{}, 8]],
    ["begin", [{}]],
    ["push", [search, new Float32Array(2)]],
    ["push", [search, new Float64Array(3)]],
    ["grown", [search, new Uint8Array(9)]],
    ["makeSearch", [search, {}, new Float64Array(4096)]],
    ["makeSearch", [null, {}, new Float64Array(4096)]],
    ["readModel", ["key", new Uint8Array(8), 5, 1, 1, 1]],
    ["readModel", ["key", new Uint8Array(8), 5, 4e9, 1, 1]],
    ["modelBytes", [search]],
    ["findModel", [1]],
  ];
  for (const [name, values] of calls) assert.throws(() => addon[name]!(...values), Error, name);
});

test("the addon is built if there is a compiler", () => {
  const hasCompiler = spawnSync("c++", ["--version"]).status === 0;
  assert.ok(binding !== null || !hasCompiler, "npm run build-native must have built native/beam");
});

test("the reason for a missing addon is reported", () => {
  const { binding: none, missing } = loadBinding("/nonexistent/beam.node");
  assert.equal(none, null);
  assert.match(missing ?? "", /nonexistent/);
});

function smallSearch(): NativeSearch {
  return binding!.makeSearch(
    null,
    {
      ...{
        vocabularySize: 3,
        space: 1,
        beamWidth: 2,
        languageModelWeight: 1,
        characterBonus: 0,
        wordBonus: 0,
      },
      ...{ candidatesPerFrame: 2, candidateFloor: -9, beamMargin: 9 },
    },
    new Float64Array(4096),
  );
}

async function searchesOf(
  file: Uint8Array | null,
  search: BeamSearchOptions,
): Promise<{ native: NativeBeamSearch; reference: PrefixBeamSearch }> {
  const model =
    file === null ? null : await sharedModel(binding!, `test-${nextKey++}`, VOCABULARY, async () => file);
  return {
    native: new NativeBeamSearch(binding!, VOCABULARY, model, search),
    reference: new PrefixBeamSearch(VOCABULARY, file === null ? null : LanguageModel.parse(file), search),
  };
}

function plain(found: ReturnType<PrefixBeamSearch["search"]>): unknown {
  return found.map(({ tokens, score }) => ({ tokens: Array.from(tokens), score }));
}

function arraysOf(hotWords: HotWords): object {
  const { firstArc, arcTokens, arcTargets, suffix, gain, credit, startState } = hotWords;
  return { firstArc, arcTokens, arcTargets, suffix, gain, credit, startState };
}

function fileOf({ words, ...rest }: typeof modelFiles extends fc.Arbitrary<infer T> ? T : never): Uint8Array {
  const wordHashes = [...new Set(words.map(hashOf))].sort((a, b) => a - b);
  return modelFile({ ...rest, vocabulary: VOCABULARY, wordHashes });
}

/** Silence always has some probability, so that the probabilities of a row add up to one. */
function possible(weights: readonly number[]): Float32Array {
  return logProbsOf(
    weights.map((weight, i) => (i % WIDTH === 0 ? Math.max(weight, 1e-6) : weight)),
    WIDTH,
  );
}

function hashOf(tokens: readonly number[]): number {
  return tokens.reduce(extendWordHash, EMPTY_WORD_HASH);
}
