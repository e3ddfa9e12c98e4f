import { gunzipSync } from "node:zlib";
import { LanguageModel, requireVocabulary } from "../../core/domain/decoding/language-model.js";
import { PrefixBeamSearch, type TokenSearch } from "../../core/domain/decoding/prefix-beam-search.js";
import type { UnpackedPlace } from "../../core/domain/decoding/unpacked-place.js";
import { loadBinding } from "../beam/binding.js";
import { NativeBeamSearch, sharedModel } from "../beam/native-beam-search.js";
import { UnpackedModels } from "../beam/unpacked-models.js";
import { recognizerFamilyOf } from "../models/families.js";
import type { GraphOptions } from "../models/graph.js";
import type { RecognizerManifest } from "../models/manifest.js";
import { type ModelPackage, readPackageFile } from "../models/package.js";
import type { RecognizerModel } from "../models/recognizer.js";
import { UtteranceDecoder } from "./utterance-decoder.js";

export interface Recognizer {
  readonly model: RecognizerModel;
  readonly utterances: UtteranceDecoder;
}

/**
 * Loads the graphs and the optional language model of a recogniser package.
 * @param options `unpacked`: where unpacked language models are cached; they are not cached if absent
 */
export async function loadRecognizer(
  options: GraphOptions & {
    readonly model: ModelPackage<RecognizerManifest>;
    readonly unpacked?: UnpackedPlace | undefined;
  },
): Promise<Recognizer> {
  const { model: modelPackage, unpacked, ...graphOptions } = options;
  const model = await recognizerFamilyOf(modelPackage.manifest).load(modelPackage, graphOptions);
  const ctcSearch = await loadSearch(modelPackage, model.vocabulary, unpacked);
  const search = model.searchOver?.(ctcSearch) ?? ctcSearch;
  return { model, utterances: new UtteranceDecoder(model, search, model.outputBias) };
}

/** Makes the native search, whose model all threads share; without the addon, the search in TypeScript. */
async function loadSearch(
  modelPackage: ModelPackage<RecognizerManifest>,
  vocabulary: readonly string[],
  unpacked: UnpackedPlace | undefined,
): Promise<TokenSearch> {
  const { files, decoding } = modelPackage.manifest;
  if (files["languageModel"] === undefined) return new PrefixBeamSearch(vocabulary, null, decoding);
  const readFile = async () => gunzipSync(await readPackageFile(modelPackage, "languageModel"));
  const { binding } = loadBinding();
  if (binding === null) {
    const languageModel = LanguageModel.parse(await readFile());
    requireVocabulary(languageModel, vocabulary);
    return new PrefixBeamSearch(vocabulary, languageModel, decoding);
  }
  const key = files["languageModel"].sha256;
  const kept = unpacked === undefined ? null : new UnpackedModels(unpacked);
  const model = await sharedModel(binding, key, vocabulary, readFile, kept);
  return new NativeBeamSearch(binding, vocabulary, model, decoding);
}
