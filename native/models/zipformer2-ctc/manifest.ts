import { z } from "zod";
import {
  type FeatureRecognizerManifest,
  manifestOnly,
  PUBLIC_RECOGNIZER,
  publicRecognizerFields,
  requireWholeRows,
  STREAM_FIELDS,
  type StreamShape,
} from "../public-recognizer-manifest.js";

export interface Zipformer2CtcManifest extends FeatureRecognizerManifest, StreamShape {}

/** Subsampling of every export. */
const SUBSAMPLING = 4;

export const ZIPFORMER2_CTC_PACKAGE = manifestOnly<Zipformer2CtcManifest>(
  z
    .object({ ...publicRecognizerFields("zipformer2-ctc"), ...STREAM_FIELDS })
    .transform((fields) => ({
      ...fields,
      ...PUBLIC_RECOGNIZER,
      frontEnd: "kaldi" as const,
      subsampling: SUBSAMPLING,
    }))
    .superRefine(requireWholeRows),
);
