import { fileURLToPath } from "node:url";

/** Path of the repository, from `dist/bench/evaluate`. */
export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
export const MODELS = `${ROOT}models/`;
export const RECIPES = `${MODELS}recipes/`;
export const EVALUATION_SET = `${RECIPES}.cache/eval/`;
export const DEV_SET = `${RECIPES}.cache/dev/`;
export const NONSPEECH_SET = `${RECIPES}.cache/nonspeech/`;
export const REFERENCE_SPEECH = `${RECIPES}.cache/reference/`;
/** Folder of a synthesizer's speech, by its weights. */
export const SPOKEN = `${RECIPES}.cache/spoken/`;
export const RECORDINGS = `${ROOT}test/fixtures/speech/`;
