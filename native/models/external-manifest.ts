import { FRAME_SAMPLES } from "../../src/domain/audio/frame.js";
import type { FrontEnd } from "../../src/domain/audio/front-ends.js";
import { requireChoice, requireCount, requireCounts, requireNumber } from "./manifest-fields.js";
import type { DecodingParameters, RecognizerManifest } from "./package.js";

/** Families of public weights that a user may drop in; one adapter file each. */
export const EXTERNAL_RECOGNIZERS = [
  "gigaam-ctc",
  "nemo-ctc",
  "nemo-streaming-ctc",
  "zipformer2-ctc",
] as const;
export type ExternalRecognizerFamily = (typeof EXTERNAL_RECOGNIZERS)[number];

/** Chunks of a graph that streams, in feature frames of 10 ms. */
interface StreamShape {
  /** Frames that a run sees, and frames by which the next run's begin later. */
  readonly windowFrames: number;
  readonly shiftFrames: number;
  /** Shapes of NeMo's caches without their batch: layers, length, width; layers, width, length. */
  readonly cacheLastChannel: readonly number[];
  readonly cacheLastTime: readonly number[];
}

/** A manifest of public weights, with everything filled in that their user may leave out. */
export interface ExternalRecognizerManifest extends RecognizerManifest {
  readonly family: ExternalRecognizerFamily;
  readonly frontEnd: FrontEnd;
  readonly melBins: number;
  /** Feature frames per row of log-probs. */
  readonly subsampling: number;
  /** Of the features over an utterance. */
  readonly normalize: "per-feature" | "none";
  /** Null when the graph wants whole utterances. */
  readonly stream: StreamShape | null;
}

/** One frame of voice activity; families' rows are multiples of it. */
const FRONT_END_FRAMES = 4;
/** Left context after a replay: what Silero's memory and a chunk need to settle. */
const CONTEXT_FRAMES = 40;
/** Without a language model the beam only adds up paths, and a narrow one does. */
const DECODING_DEFAULTS: DecodingParameters = {
  beamWidth: 16,
  languageModelWeight: 0,
  characterBonus: 0,
  wordBonus: 0,
};
const FILES = ["model", "vocabulary", "vad"];

export function isExternalRecognizer(family: unknown): family is ExternalRecognizerFamily {
  return EXTERNAL_RECOGNIZERS.some((known) => known === family);
}

/** @throws {Error} saying which field must be what */
export function parseExternalRecognizer(
  manifest: Readonly<Record<string, unknown>>,
  family: ExternalRecognizerFamily,
): ExternalRecognizerManifest {
  if (requireNumber(manifest, "sampleRateHz") !== 16_000) {
    throw new Error(`sampleRateHz must be 16000 for ${family}, found ${String(manifest["sampleRateHz"])}`);
  }
  const files = (manifest["files"] ?? {}) as Readonly<Record<string, unknown>>;
  for (const name of FILES) if (!(name in files)) throw new Error(`files must name "${name}" for ${family}`);
  const decoding = { ...DECODING_DEFAULTS, ...(manifest["decoding"] as Partial<DecodingParameters>) };
  for (const field of Object.keys(DECODING_DEFAULTS)) requireNumber({ ...decoding }, field);
  if (decoding.emissionDelaySeconds !== undefined) requireNumber({ ...decoding }, "emissionDelaySeconds");
  const melBins = requireCount(manifest, "melBins");
  const subsampling = family === "zipformer2-ctc" ? FRONT_END_FRAMES : requireCount(manifest, "subsampling");
  if (subsampling % FRONT_END_FRAMES !== 0) {
    throw new Error(`subsampling must be a multiple of ${FRONT_END_FRAMES}, found ${subsampling}`);
  }
  return {
    ...(manifest as unknown as RecognizerManifest),
    family,
    frameSamples: FRAME_SAMPLES,
    contextFrames: CONTEXT_FRAMES,
    // A part of a frame before a mark lies in it; the head itself needs none.
    flushSamples: FRAME_SAMPLES,
    decoding,
    melBins,
    subsampling,
    frontEnd: frontEndOf(manifest, family),
    normalize: family === "nemo-ctc" ? requireChoice(manifest, "normalize", ["per-feature", "none"]) : "none",
    stream: streamOf(manifest, family, subsampling),
  };
}

function frontEndOf(manifest: Readonly<Record<string, unknown>>, family: ExternalRecognizerFamily): FrontEnd {
  if (family === "gigaam-ctc") return requireChoice(manifest, "frontEnd", ["gigaam-v2", "gigaam-v3"]);
  return family === "zipformer2-ctc" ? "kaldi" : "nemo";
}

function streamOf(
  manifest: Readonly<Record<string, unknown>>,
  family: ExternalRecognizerFamily,
  subsampling: number,
): StreamShape | null {
  if (family === "gigaam-ctc" || family === "nemo-ctc") return null;
  const isNemo = family === "nemo-streaming-ctc";
  const windowFrames = requireCount(manifest, "windowFrames");
  const shiftFrames = requireCount(manifest, "shiftFrames");
  if (shiftFrames % subsampling !== 0 || shiftFrames > windowFrames) {
    throw new Error(
      `shiftFrames must be a multiple of ${subsampling} and at most windowFrames, found ${shiftFrames}`,
    );
  }
  return {
    windowFrames,
    shiftFrames,
    cacheLastChannel: isNemo ? requireCounts(manifest, "cacheLastChannel", 3) : [],
    cacheLastTime: isNemo ? requireCounts(manifest, "cacheLastTime", 3) : [],
  };
}
