import { z } from "zod";
import { FRAME_SAMPLES } from "../../core/domain/audio/frame.js";
import type { FrontEnd } from "../../core/domain/audio/front-ends.js";
import {
  DECODING_FIELDS,
  type DecodingParameters,
  RECOGNIZER_FIELDS,
  type RecognizerManifest,
} from "./manifest.js";
import type { PackageSchema } from "./package-schema.js";
import { number, refuse, text, whole } from "./rules.js";

/** Chunks of a graph that streams, in feature frames of 10 ms. */
export interface StreamShape {
  /** Frames that a run sees, and frames by which the next run's begin later. */
  readonly windowFrames: number;
  readonly shiftFrames: number;
}

/** A recogniser of public weights, with everything filled in that a manifest may leave out. */
export interface PublicRecognizerManifest extends RecognizerManifest {
  readonly frontEnd: FrontEnd;
  readonly melBins: number;
  /** Feature frames per row of log-probs. */
  readonly subsampling: number;
  /** Symbols of its vocabulary that are never given out. */
  readonly maskedOutputs?: readonly string[] | undefined;
}

/** A recogniser that reads whole utterances. */
export interface OfflineRecognizerManifest extends PublicRecognizerManifest {
  /** The longest audio that one pass takes; absent for a graph that takes what an utterance may last. */
  readonly longestSeconds?: number | undefined;
}

const FRONT_END_FRAMES = 4;
/** Without a language model the beam only adds up paths, and a narrow one does. */
const DECODING_DEFAULTS: DecodingParameters = {
  beamWidth: 16,
  languageModelWeight: 0,
  characterBonus: 0,
  wordBonus: 0,
};
const FILES = ["model", "vocabulary"];

/** What a manifest of every family of public recognisers says. */
export function publicRecognizerFields(family: string) {
  return {
    ...RECOGNIZER_FIELDS,
    sampleRateHz: number().refine((rate) => rate === 16_000, {
      error: (issue) => `must be 16000 for ${family}, found ${String(issue.input)}`,
    }),
    files: RECOGNIZER_FIELDS.files.superRefine((files, context) => {
      const missing = FILES.find((name) => !(name in files));
      if (missing !== undefined) refuse(context, [], `must name "${missing}" for ${family}`);
    }),
    decoding: z.preprocess(
      (decoding) => ({ ...DECODING_DEFAULTS, ...(decoding as object | undefined) }),
      z.object(DECODING_FIELDS),
    ),
    melBins: whole(1),
    maskedOutputs: z.array(text(), { error: "must be a list of symbols" }).optional(),
  };
}

/** The longest audio of a pass: with less than this, passes would overlap more than they bring. */
const LEAST_PASS_SECONDS = 10;

/** Of a graph that reads whole utterances. */
export function longestSecondsField() {
  return number().refine((seconds) => seconds >= LEAST_PASS_SECONDS, {
    error: (issue) => `must be at least ${LEAST_PASS_SECONDS}, found ${String(issue.input)}`,
  });
}

/** Feature frames per row of log-probs. */
export function subsamplingField() {
  return whole(1).refine((frames) => frames % FRONT_END_FRAMES === 0, {
    error: (issue) => `must be a multiple of ${FRONT_END_FRAMES}, found ${String(issue.input)}`,
  });
}

/** Fields of a graph that reads chunks. */
export const STREAM_FIELDS = { windowFrames: whole(1), shiftFrames: whole(1) };

/** Refuses a chunk that does not hold whole rows. */
export function requireWholeRows(
  { windowFrames, shiftFrames, subsampling }: StreamShape & { readonly subsampling: number },
  context: z.core.$RefinementCtx,
): void {
  if (shiftFrames % subsampling === 0 && shiftFrames <= windowFrames) return;
  const rule = `must be a multiple of ${subsampling} and at most windowFrames, found ${shiftFrames}`;
  refuse(context, ["shiftFrames"], rule);
}

/** What every such recogniser has in common besides its manifest. */
export const PUBLIC_RECOGNIZER = {
  frameSamples: FRAME_SAMPLES,
  /** Left context after a replay: what the near voice reaches back, Silero's memory and a chunk need to settle. */
  contextFrames: 40,
  // A part of a frame before a mark lies in it; the head itself needs none.
  flushSamples: FRAME_SAMPLES,
} as const;

/** The package of a family that has no JSON files but its manifest. */
export function manifestOnly<M extends RecognizerManifest>(manifest: z.ZodType<M>): PackageSchema<M, object> {
  return { manifest, jsonFiles: [], contents: () => z.object({}) };
}
