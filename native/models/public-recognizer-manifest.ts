import { z } from "zod";
import { FRAME_SAMPLES } from "../../core/domain/audio/frame.js";
import type { FrontEnd } from "../../core/domain/audio/front-ends.js";
import {
  DECODING_FIELDS,
  type DecodingParameters,
  type PackageSchema,
  RECOGNIZER_FIELDS,
  type RecognizerManifest,
} from "./manifest.js";
import { between, number, refuse, text, whole } from "./rules.js";

/** Chunks of a streaming graph, in feature frames of 10 ms. */
export interface StreamShape {
  readonly windowFrames: number;
  /** Distance between the starts of two chunks. */
  readonly shiftFrames: number;
}

/** A manifest for public weights, defaults applied. */
export interface PublicRecognizerManifest extends RecognizerManifest {
  /** Symbols of its vocabulary that are never output. */
  readonly maskedOutputs?: readonly string[] | undefined;
}

/** A manifest for a graph that takes features. */
export interface FeatureRecognizerManifest extends PublicRecognizerManifest {
  readonly frontEnd: FrontEnd;
  readonly melBins: number;
  readonly subsampling: number;
}

/** Windows in which a full-context graph reads a live utterance, see `ReadingWindows`. */
interface WindowSeconds {
  readonly strideSeconds: number;
  /** Overlap of two windows. */
  readonly overlapSeconds: number;
}

export interface OfflineRecognizerManifest extends FeatureRecognizerManifest {
  readonly windows: WindowSeconds;
  /** The longest audio of one pass; absent for a graph that accepts the longest utterance. */
  readonly longestSeconds?: number | undefined;
}

const FRONT_END_FRAMES = 4;
/** Without a language model the beam only sums paths, so a narrow beam is enough. */
const DECODING_DEFAULTS: DecodingParameters = {
  beamWidth: 16,
  languageModelWeight: 0,
  characterBonus: 0,
  wordBonus: 0,
};
const FILES = ["model", "vocabulary"];

/** Makes the manifest fields of public recognisers that take features. */
export function publicRecognizerFields(family: string) {
  return { ...commonRecognizerFields(family, FILES), melBins: whole(1) };
}

/** Makes the manifest fields that all public recognisers share. @param decoding defaults of the family */
export function commonRecognizerFields(
  family: string,
  required: readonly string[],
  decoding: Partial<DecodingParameters> = {},
) {
  return {
    ...RECOGNIZER_FIELDS,
    sampleRateHz: number().refine((rate) => rate === 16_000, {
      error: (issue) => `must be 16000 for ${family}, found ${String(issue.input)}`,
    }),
    files: RECOGNIZER_FIELDS.files.superRefine((files, context) => {
      const missing = required.find((name) => !(name in files));
      if (missing !== undefined) refuse(context, [], `must list "${missing}" for ${family}`);
    }),
    decoding: z.preprocess(
      (own) => ({ ...DECODING_DEFAULTS, ...decoding, ...(own as object | undefined) }),
      z.object(DECODING_FIELDS),
    ),
    maskedOutputs: z.array(text(), { error: "must be a list of symbols" }).optional(),
  };
}

/** Minimum length of a pass; shorter ones would mostly overlap. */
const LEAST_PASS_SECONDS = 10;

export function longestSecondsField() {
  return number().refine((seconds) => seconds >= LEAST_PASS_SECONDS, {
    error: (issue) => `must be at least ${LEAST_PASS_SECONDS}, found ${String(issue.input)}`,
  });
}

/** Minimum overlap, because a seam needs context on both sides. */
const LEAST_OVERLAP_SECONDS = 0.8;
const LEAST_STRIDE_SECONDS = 0.8;
/** Length of the longest utterance: a window of this length is never full. */
const LONGEST_WINDOW_SECONDS = 30;
/** Window sizes with which at most 0.3 % of the words change (`bench/results/windows.json`). */
const USUAL_WINDOWS: WindowSeconds = { strideSeconds: 2.4, overlapSeconds: 2.4 };

export function windowsField() {
  return z
    .object(
      {
        strideSeconds: between(LEAST_STRIDE_SECONDS, LONGEST_WINDOW_SECONDS),
        overlapSeconds: between(LEAST_OVERLAP_SECONDS, LONGEST_WINDOW_SECONDS),
      },
      { error: "must have strideSeconds and overlapSeconds" },
    )
    .default(USUAL_WINDOWS);
}

export function subsamplingField() {
  return whole(1).refine((frames) => frames % FRONT_END_FRAMES === 0, {
    error: (issue) => `must be a multiple of ${FRONT_END_FRAMES}, found ${String(issue.input)}`,
  });
}

export const STREAM_FIELDS = { windowFrames: whole(1), shiftFrames: whole(1) };

/** Rejects chunks that do not consist of whole rows. */
export function requireWholeRows(
  { windowFrames, shiftFrames, subsampling }: StreamShape & { readonly subsampling: number },
  context: z.core.$RefinementCtx,
): void {
  if (shiftFrames % subsampling === 0 && shiftFrames <= windowFrames) return;
  const rule = `must be a multiple of ${subsampling} and at most windowFrames, found ${shiftFrames}`;
  refuse(context, ["shiftFrames"], rule);
}

/** Manifest fields that are the same for all public recognisers. */
export const PUBLIC_RECOGNIZER = {
  frameSamples: FRAME_SAMPLES,
  /**
   * Number of frames that suffices for the near voice's reach, for Silero's memory and for a chunk to settle
   * after a replay.
   */
  contextFrames: 40,
  // Covers the partial frame before a mark; the head itself needs no flush.
  flushSamples: FRAME_SAMPLES,
} as const;

/** Makes the schema of a package whose only JSON file is its manifest. */
export function manifestOnly<M extends RecognizerManifest>(manifest: z.ZodType<M>): PackageSchema<M, object> {
  return { manifest, jsonFiles: [], contents: () => z.object({}) };
}
