import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { FRAME_SAMPLES } from "../../core/domain/audio/frame.js";
import { toFloat } from "../../core/domain/audio/pcm.js";
import { gaussianNoise } from "../../core/domain/synthesis/noise.js";
import { loadVoiceActivity } from "../../native/models/load-voice-activity.js";
import type { SealedFolder } from "../../native/models/package.js";
import { StateRows } from "../../native/models/state-rows.js";
import type { VoiceActivity } from "../../native/models/voice-activity.js";
import { talk } from "../support/saturated-stepper.js";
import { percent, table } from "./report.js";

const RATE_HZ = 16_000;
const SPEECH = 0.5;
/** Root mean square above which a frame of a studio recording holds only speech. */
const LOUD = 0.03;
/** Number of frames after which digital silence counts as silence: a detector may need that long to react. */
const HELD_FRAMES = 5;
const NOISE_SECONDS = 10;
const NOISE_LEVEL = 0.03;

export interface VadReport {
  readonly file: string;
  /** Number of 40 ms frames, and the share of them classified as speech. */
  readonly rows: readonly { readonly sound: string; readonly frames: number; readonly speechShare: number }[];
  readonly realTimeFactor: number;
}

/**
 * Scores a voice activity graph, Silero's or the near voice's, on recordings of people, pauses between them,
 * and noise.
 */
export async function evaluateVad(path: string): Promise<VadReport> {
  const vad = await loadVoiceActivity(await packageOf(path), { intraOpThreads: 1 });
  try {
    const speech = toFloat(await talk(RATE_HZ));
    const startedAtMs = performance.now();
    const probabilities = await hear(vad, speech);
    const realTimeFactor = (performance.now() - startedAtMs) / 1_000 / (speech.length / RATE_HZ);
    const levels = probabilities.map((_, frame) => levelOf(speech, frame));
    const noise = Float32Array.from(
      gaussianNoise(NOISE_SECONDS * RATE_HZ, 1),
      (value) => value * NOISE_LEVEL,
    );
    const isPause = (frame: number) =>
      frame >= HELD_FRAMES && levels.slice(frame - HELD_FRAMES, frame + 1).every((level) => level === 0);
    const loud = probabilities.filter((_, frame) => levels[frame]! > LOUD);
    const pauses = probabilities.filter((_, frame) => isPause(frame));
    return {
      file: basename(path),
      rows: [
        rowOf("people, loud frames", loud),
        rowOf("pauses between them", pauses),
        rowOf("white noise", await hear(vad, noise)),
      ],
      realTimeFactor,
    };
  } finally {
    await vad.release();
  }
}

/** Renders the report as Markdown. */
export function vadTable({ file, rows, realTimeFactor }: VadReport): string {
  const cells = rows.map(({ sound, frames, speechShare }) => [sound, String(frames), percent(speechShare)]);
  const head = [file, "frames of 40 ms", "taken for speech, %"];
  return `${table(head, cells)}\n\nReal-time factor ${realTimeFactor.toFixed(4)}.`;
}

function rowOf(sound: string, probabilities: readonly number[]) {
  const speech = probabilities.filter((probability) => probability >= SPEECH).length;
  return { sound, frames: probabilities.length, speechShare: speech / probabilities.length };
}

async function hear(vad: VoiceActivity, samples: Float32Array): Promise<number[]> {
  const { rows: states } = new StateRows(vad, 1);
  const speech = new Float32Array(1);
  const probabilities: number[] = [];
  for (let start = 0; start + FRAME_SAMPLES <= samples.length; start += FRAME_SAMPLES) {
    const pcm = samples.subarray(start, start + FRAME_SAMPLES);
    await vad.hear({ frames: 1, pcm, speech, states });
    probabilities.push(speech[0]!);
  }
  return probabilities;
}

function levelOf(samples: Float32Array, frame: number): number {
  const part = samples.subarray(frame * FRAME_SAMPLES, (frame + 1) * FRAME_SAMPLES);
  return Math.sqrt(part.reduce((sum, sample) => sum + sample * sample, 0) / part.length);
}

/** Wraps a file as the only file of a package. */
async function packageOf(path: string): Promise<SealedFolder> {
  const file = resolve(path);
  const sha256 = createHash("sha256")
    .update(await readFile(file))
    .digest("hex");
  const files = { vad: { path: basename(file), sha256 } };
  return { folder: dirname(file), manifest: { id: basename(file), files } };
}
