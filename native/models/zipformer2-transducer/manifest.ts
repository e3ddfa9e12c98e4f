import { z } from "zod";
import {
  commonRecognizerFields,
  manifestOnly,
  PUBLIC_RECOGNIZER,
  type PublicRecognizerManifest,
} from "../public-recognizer-manifest.js";
import { whole } from "../rules.js";

export interface TransducerManifest extends PublicRecognizerManifest {
  /** Number of paths in the beam search over finals and files. */
  readonly activePaths: number;
}

const FILES = ["encoder", "decoder", "joiner", "vocabulary"];
/** Default of sherpa-onnx's `max_active_paths`. */
const ACTIVE_PATHS = 4;

/** Makes the manifest fields of transducers. */
export function transducerFields(family: string) {
  return { ...commonRecognizerFields(family, FILES), activePaths: whole(1).default(ACTIVE_PATHS) };
}

export const ZIPFORMER2_TRANSDUCER_PACKAGE = manifestOnly<TransducerManifest>(
  z
    .object(transducerFields("zipformer2-transducer"))
    .transform((fields) => ({ ...fields, ...PUBLIC_RECOGNIZER })),
);
