import { z } from "zod";
import {
  commonRecognizerFields,
  type FeatureRecognizerManifest,
  manifestOnly,
  PUBLIC_RECOGNIZER,
  subsamplingField,
} from "../public-recognizer-manifest.js";
import { choice, refuse, whole } from "../rules.js";

export interface NemoTdtManifest extends FeatureRecognizerManifest {
  /** Normalization of features over an utterance. */
  readonly normalize: "per-feature" | "none";
}

const { files: FILES, ...FIELDS } = commonRecognizerFields("nemo-tdt", ["encoder", "vocabulary"]);

export const NEMO_TDT_PACKAGE = manifestOnly<NemoTdtManifest>(
  z
    .object({
      ...FIELDS,
      files: FILES.superRefine((files, context) => {
        const isSplit = "decoder" in files && "joiner" in files;
        if (isSplit === "decoderJoint" in files) {
          refuse(context, [], 'must list either "decoder" and "joiner" or "decoderJoint" for nemo-tdt');
        }
      }),
      melBins: whole(1),
      subsampling: subsamplingField(),
      normalize: choice(["per-feature", "none"]),
    })
    .transform((fields) => ({ ...fields, ...PUBLIC_RECOGNIZER, frontEnd: "nemo" as const })),
);
