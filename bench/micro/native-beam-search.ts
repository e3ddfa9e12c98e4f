import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { Bench } from "tinybench";
import { HotWords } from "../../core/domain/decoding/hot-words.js";
import { LanguageModel } from "../../core/domain/decoding/language-model.js";
import { PrefixBeamSearch, type TokenSearch } from "../../core/domain/decoding/prefix-beam-search.js";
import { loadBinding } from "../../native/beam/binding.js";
import { NativeBeamSearch, sharedModel } from "../../native/beam/native-beam-search.js";
import { CtcTwoPass } from "../../native/models/ctc-two-pass/ctc-two-pass.js";
import type { CtcTwoPassContents } from "../../native/models/ctc-two-pass/manifest.js";
import { readPackage } from "../../native/models/find-packages.js";
import type { RecognizerManifest } from "../../native/models/manifest.js";
import { readPackageFile } from "../../native/models/package.js";
import type { BenchOptions } from "../bench-options.js";
import { MODELS, RECORDINGS } from "../evaluate/paths.js";
import { readSamples } from "../evaluate/samples.js";
import { saveResult, taskFigures } from "../save-result.js";

const FILES = [
  "kazakh-speech-commands/example_1.flac",
  "pisets-ru-test/test_sound_ru.flac",
  "asterisk-ru-core/conf-getconfno.flac",
  "asterisk-ru-core/vm-intro.flac",
];
const HOT_WORDS = ["конференция", "номер", "абонент", "сәлем", "жиналыс"];

/**
 * Decodes recordings of people with the shipped model's settings: compares the native search with its
 * reference, including all of their results.
 */
export async function run(options: BenchOptions): Promise<void> {
  const { binding, missing } = loadBinding();
  if (binding === null) {
    console.log(`native-beam-search: nothing to compare, ${missing}`);
    return;
  }
  const recognizer = await readPackage<RecognizerManifest, CtcTwoPassContents>(
    `${MODELS}svc-kk-ru-v2`,
    "transcription",
  );
  const graphs = await CtcTwoPass.load(recognizer, { intraOpThreads: 1 });
  const { vocabulary, manifest } = graphs;
  const file = gunzipSync(await readPackageFile(recognizer, "languageModel"));
  const languageModel = LanguageModel.parse(file);
  const model = await sharedModel(binding, "bench", vocabulary, async () => file);
  const reference = new PrefixBeamSearch(vocabulary, languageModel, manifest.decoding);
  const native = new NativeBeamSearch(binding, vocabulary, model, manifest.decoding);
  const heard: { logProbs: Float32Array; frames: number }[] = [];
  for (const path of FILES) {
    heard.push(await graphs.decodeUtterance(await readSamples(RECORDINGS + path, manifest.sampleRateHz)));
  }
  await graphs.release();
  const hotWords = HotWords.compile(
    HOT_WORDS.map((text) => ({ text, characterScore: 1 })),
    vocabulary,
  );
  const searchAll = (search: TokenSearch, hot: HotWords | null) =>
    heard.map(({ logProbs, frames }) => search.search(logProbs, frames, hot));
  const bench = new Bench({ time: options.smoke ? 20 : 4_000, retainSamples: true });
  for (const [name, hot] of [
    ["", null],
    [", hot words", hotWords],
  ] as const) {
    assert.deepEqual(plain(searchAll(native, hot)), plain(searchAll(reference, hot)));
    bench.add(`typescript${name}`, () => searchAll(reference, hot));
    bench.add(`native${name}`, () => searchAll(native, hot));
  }
  await bench.run();
  const figures = taskFigures(bench);
  const p50 = figures.map(({ p50Ms }) => p50Ms);
  const ratio = { plain: p50[0]! / p50[1]!, hotWords: p50[2]! / p50[3]! };
  const frames = heard.reduce((sum, one) => sum + one.frames, 0);
  for (const { name, p50Ms } of figures) {
    console.log(`native-beam-search ${name}: ${((p50Ms / frames) * 1_000).toFixed(2)} µs a frame`);
  }
  console.log(
    `native-beam-search: ${ratio.plain.toFixed(2)} times as fast as TypeScript, ${ratio.hotWords.toFixed(2)} with hot words`,
  );
  const memoryBytes = { native: binding.modelBytes(model), typescript: languageModel.memoryBytes };
  const parameters = { ...manifest.decoding, files: FILES, frames, hotWords: HOT_WORDS };
  if (!options.smoke) await saveResult("native-beam-search", { parameters, ratio, memoryBytes, figures });
}

function plain(found: ReturnType<TokenSearch["search"]>[]): unknown {
  return found.map((texts) => texts.map(({ tokens, score }) => ({ tokens: Array.from(tokens), score })));
}
