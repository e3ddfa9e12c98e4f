import { z } from "zod";
import {
  manifestOnly,
  PUBLIC_RECOGNIZER,
  type PublicRecognizerManifest,
  publicRecognizerFields,
  requireWholeRows,
  STREAM_FIELDS,
  type StreamShape,
  subsamplingField,
} from "../public-recognizer-manifest.js";
import { counts } from "../rules.js";

export interface NemoStreamingCtcManifest extends PublicRecognizerManifest, StreamShape {
  /** Shapes of NeMo's caches without their batch: layers, length, width; layers, width, length. */
  readonly cacheLastChannel: readonly number[];
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
