import { z } from "zod";
import {
  DECODING_FIELDS,
  type PackageSchema,
  RECOGNIZER_FIELDS,
  type RecognizerManifest,
} from "../manifest.js";
import { number, refuse } from "../rules.js";

export interface CtcTwoPassContents {
  /** Outputs: the blank, then characters. */
  readonly vocabulary: readonly string[];
  /** Prior of each output, 0 to 1; removed in part, as given by `decoding.priorWeight`. */
  readonly priors?: readonly number[] | undefined;
}

const MANIFEST = z
  .object({
    ...RECOGNIZER_FIELDS,
    frameSamples: number(),
    contextFrames: number(),
    flushSamples: number(),
    decoding: z.object(DECODING_FIELDS).prefault({} as never),
  })
  .superRefine(({ decoding, files }, context) => {
    if (decoding.priorWeight === undefined || "priors" in files) return;
    refuse(context, ["decoding", "priorWeight"], "needs a file priors");
  });

const CONTENTS = z
  .object({
    vocabulary: z.array(z.string(), { error: "must be a list of characters" }),
    priors: z.unknown(),
  })
  .transform(({ vocabulary, priors }, context) => {
    const isPrior = (value: unknown) => typeof value === "number" && value >= 0;
    const areRight = Array.isArray(priors) && priors.length === vocabulary.length && priors.every(isPrior);
    if (priors !== undefined && !areRight) {
      refuse(context, ["priors"], `priors must be ${vocabulary.length} numbers of 0 or more`);
    }
    return { vocabulary, priors: priors as readonly number[] | undefined };
  });

export const CTC_TWO_PASS_PACKAGE: PackageSchema<RecognizerManifest, CtcTwoPassContents> = {
  manifest: MANIFEST,
  jsonFiles: ["vocabulary", "priors"],
  contents: () => CONTENTS,
};
