import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type SpeakerTurn, speakerTurns } from "../../core/domain/diarization/speaker-turns.js";
import { windowCount } from "../../core/domain/diarization/windows.js";
import { uniformRandom } from "../../core/domain/statistics/uniform-random.js";
import type { SpeakerModel } from "../../native/models/speaker-model.js";
import { speakerTone } from "./marked-speakers.js";

/** Results of sherpa-onnx on the tiny diarization package; see `npm run bench -- diarization-peer`. */
export const DIARIZATION_REFERENCE = fileURLToPath(
  new URL("../../../test/fixtures/adapters/diarization-reference.json", import.meta.url),
);

export interface DiarizationReference {
  readonly peer: string;
  /** Results in the order of `DIARIZATION_CASES`. */
  readonly turns: readonly (readonly SpeakerTurn[])[];
  /** Embeddings of the spans of `EMBEDDED_SECONDS`. */
  readonly embeddings: readonly (readonly number[])[];
}

export interface DiarizationCase {
  readonly seconds: number;
  readonly speakerCount: number | null;
  readonly threshold: number;
}

/** Audio that ends within a window, at its end, at the end of the first window, and within it. */
export const DIARIZATION_CASES: readonly DiarizationCase[] = [
  { seconds: 33.7, speakerCount: null, threshold: 0.5 },
  { seconds: 34, speakerCount: null, threshold: 0.5 },
  { seconds: 33.7, speakerCount: 2, threshold: 0.5 },
  { seconds: 33.7, speakerCount: 3, threshold: 0.5 },
  { seconds: 26, speakerCount: 4, threshold: 0.5 },
  { seconds: 33.7, speakerCount: 1, threshold: 0.5 },
  { seconds: 10, speakerCount: null, threshold: 0.5 },
  { seconds: 6.3, speakerCount: null, threshold: 0.5 },
];
export const EMBEDDED_SECONDS = [
  [1, 5],
  [7, 8],
  [10.2, 16.9],
  [23, 23.2],
] as const;

const RATE_HZ = 16_000;
const TURN_SECONDS = { least: 0.3, gap: 0.5 };
/** Start, end and speaker: turns, overlaps, a word of 0.15 s, and a voice that returns. */
const PLAN = [
  [0.5, 6, 0],
  [6.5, 11, 1],
  [10, 17, 2],
  [18, 24, 0],
  [23, 25.5, 1],
  [27, 27.15, 2],
  [29, 33.4, 0],
] as const;

/** Generates the audio of the cases: tones of speakers over faint noise; 16 bits, -1 to 1. */
export function speakersPcm(seconds: number): Float32Array {
  const random = uniformRandom(7);
  return Float32Array.from({ length: Math.round(seconds * RATE_HZ) }, (_, i) => {
    const second = i / RATE_HZ;
    const active = PLAN.filter(([start, end]) => second >= start && second < end);
    const sum = active.reduce((total, [, , speaker]) => total + speakerTone(speaker, second), 0);
    return Math.round(32_768 * (sum + 0.01 * (random() - 0.5))) / 32_768;
  });
}

/** Finds the turns of a case as the service does, window by window. */
export async function turnsBy(
  model: SpeakerModel,
  { seconds, speakerCount, threshold }: DiarizationCase,
): Promise<readonly SpeakerTurn[]> {
  const pcm = speakersPcm(seconds);
  const { manifest: shape } = model;
  const windows = [];
  for (let window = 0; window < windowCount(pcm.length, shape); window++) {
    const start = window * shape.shiftSamples;
    const samples = new Float32Array(shape.windowSamples);
    samples.set(pcm.subarray(start, start + samples.length));
    windows.push(await model.hearWindow(samples, pcm.length - start));
  }
  return speakerTurns(windows, {
    ...{ shape, sampleCount: pcm.length, speakerCount, threshold },
    ...{ leastTurnSeconds: TURN_SECONDS.least, leastGapSeconds: TURN_SECONDS.gap },
  });
}

export const REFERENCE_TURN_SECONDS = TURN_SECONDS;

export function readDiarizationReference(): DiarizationReference {
  return JSON.parse(readFileSync(DIARIZATION_REFERENCE, "utf8")) as DiarizationReference;
}
