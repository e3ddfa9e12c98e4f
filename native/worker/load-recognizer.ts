import { gunzipSync } from "node:zlib";
import { LanguageModel } from "../../src/domain/decoding/language-model.js";
import { CtcTwoPass } from "../onnx/ctc-two-pass.js";
import { type RecognizerManifest, readPackage, readPackageFile } from "../onnx/model-package.js";
import { UtteranceDecoder } from "./utterance-decoder.js";

export interface Recognizer {
  readonly model: CtcTwoPass;
  readonly utterances: UtteranceDecoder;
}

/** Loads the graphs and the language model of a recogniser package. */
export async function loadRecognizer(options: {
  readonly modelFolder: string;
  readonly intraOpThreads: number;
}): Promise<Recognizer> {
  const modelPackage = await readPackage<RecognizerManifest>(options.modelFolder, "transcription");
  const model = await CtcTwoPass.load(modelPackage, { intraOpThreads: options.intraOpThreads });
  const languageModel = LanguageModel.parse(gunzipSync(await readPackageFile(modelPackage, "languageModel")));
  return { model, utterances: new UtteranceDecoder(model, languageModel, modelPackage.manifest.decoding) };
}
