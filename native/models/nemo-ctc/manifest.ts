import { z } from "zod";
import {
  longestSecondsField,
  manifestOnly,
  type OfflineRecognizerManifest,
  PUBLIC_RECOGNIZER,
  publicRecognizerFields,
  subsamplingField,
  windowsField,
} from "../public-recognizer-manifest.js";
import { choice } from "../rules.js";

export interface NemoCtcManifest extends OfflineRecognizerManifest {
  /** Normalization of features over an utterance. */
  readonly normalize: "per-feature" | "none";
}

export const NEMO_CTC_PACKAGE = manifestOnly<NemoCtcManifest>(
  z
    .object({
      ...publicRecognizerFields("nemo-ctc"),
      subsampling: subsamplingField(),
      normalize: choice(["per-feature", "none"]),
      longestSeconds: longestSecondsField().optional(),
      windows: windowsField(),
    })
    .transform((fields) => ({ ...fields, ...PUBLIC_RECOGNIZER, frontEnd: "nemo" as const })),
);
