import { z } from "zod";
import {
  type FeatureRecognizerManifest,
  manifestOnly,
  PUBLIC_RECOGNIZER,
  publicRecognizerFields,
  requireWholeRows,
  STREAM_FIELDS,
  type StreamShape,
  subsamplingField,
} from "../public-recognizer-manifest.js";
import { counts } from "../rules.js";

export interface NemoStreamingCtcManifest extends FeatureRecognizerManifest, StreamShape {
  /** Shape of the cache without its batch: layers, length, width. */
  readonly cacheLastChannel: readonly number[];
  /** Shape of the cache without its batch: layers, width, length. */
  readonly cacheLastTime: readonly number[];
}

export const NEMO_STREAMING_CTC_PACKAGE = manifestOnly<NemoStreamingCtcManifest>(
  z
    .object({
      ...publicRecognizerFields("nemo-streaming-ctc"),
      subsampling: subsamplingField(),
      ...STREAM_FIELDS,
      cacheLastChannel: counts(3),
      cacheLastTime: counts(3),
    })
    .superRefine(requireWholeRows)
    .transform((fields) => ({ ...fields, ...PUBLIC_RECOGNIZER, frontEnd: "nemo" as const })),
);
