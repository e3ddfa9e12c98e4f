import { writeFile } from "node:fs/promises";
import { seedOf } from "../../core/domain/synthesis/noise.js";
import type { SynthesisJob } from "../../core/ports/synthesizer.js";
import { readPackage } from "../../native/models/find-packages.js";
import { FlowMatching } from "../../native/models/flow-matching/flow-matching.js";
import type { FlowMatchingContents } from "../../native/models/flow-matching/manifest.js";
import type { SolverPiece } from "../../native/models/flow-matching/solver-piece.js";
import type { MelSynthesizerManifest } from "../../native/models/manifest.js";
import { saveResult } from "../save-result.js";
import { corpusLines } from "../support/corpora.js";
import { fitLoudness, type LevelSample } from "../support/fit-loudness.js";
import { integratedLoudness } from "../support/loudness.js";
import { MODELS } from "./paths.js";
import { table } from "./report.js";

const SENTENCES = 40;
const NFE = 16;

/**
 * Levels of the pieces of one voice, or of all, before and after the gain that is computed from the mel
 * spectrogram.
 */
export interface LoudnessRow {
  readonly voice: string;
  readonly pieces: number;
  readonly before: Spread;
  readonly after: Spread;
  /** Largest sample, 1 is full scale. */
  readonly peakAfter: number;
}

interface Spread {
  readonly meanLufs: number;
  readonly deviationLu: number;
  /** Largest deviation from the mean. */
  readonly farthestLu: number;
}

interface Measured {
  readonly voice: string;
  readonly text: string;
  readonly beforeLufs: number;
  readonly afterLufs: number;
  readonly peakAfter: number;
}

/**
 * Speaks held-out sentences with every voice and measures how equal their loudness is.
 *
 * @param options.calibrate first fits the package's `loudness.json` to other sentences; seal the manifest
 * afterwards
 */
export async function evaluateLoudness(options: {
  readonly modelId: string;
  readonly limit: number;
  readonly calibrate: boolean;
}): Promise<LoudnessRow[]> {
  const folder = MODELS + options.modelId;
  const synthesizer = await readPackage<MelSynthesizerManifest, FlowMatchingContents>(folder, "synthesis");
  const { manifest } = synthesizer;
  const model = await FlowMatching.load(synthesizer, { intraOpThreads: 1 });
  const texts = heldOut();
  if (options.calibrate) {
    const samples: LevelSample[] = [];
    // Every other sentence, so that fitting and measuring use different ones.
    for (const job of jobsOf(manifest, texts, 1)) samples.push(await sampleOf(model, job));
    const fitted = fitLoudness(samples, manifest);
    await writeFile(`${folder}/loudness.json`, `${JSON.stringify(fitted, null, 1)}\n`);
    console.log(`wrote loudness.json of ${options.modelId}: seal the package, then measure`);
    await model.release();
    return [];
  }
  const measured: Measured[] = [];
  for (const job of jobsOf(manifest, texts, 0, options.limit)) {
    const { piece, pcm } = await sampleOf(model, job);
    const gain = piece.gain.at(-1)!.gain;
    const levels = { beforeLufs: integratedLoudness(pcm, manifest.sampleRateHz), afterLufs: 0, peakAfter: 0 };
    const scaled = pcm.map((sample) => sample * gain);
    levels.afterLufs = integratedLoudness(scaled, manifest.sampleRateHz);
    levels.peakAfter = scaled.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
    measured.push({ voice: job.voice, text: job.spokenText, ...levels });
  }
  await model.release();
  const voices = manifest.voices.map(({ name }) => name);
  const rows = ["all", ...voices].map((voice) =>
    rowOf(
      voice,
      measured.filter((one) => voice === "all" || one.voice === voice),
    ),
  );
  if (options.limit === Number.POSITIVE_INFINITY) {
    const parameters = { model: options.modelId, nfe: NFE, sentences: SENTENCES / 2 };
    console.log(`saved ${await saveResult("loudness", { parameters, rows, raw: measured })}`);
  }
  return rows;
}

/** Renders the rows as Markdown. */
export function loudnessTable(rows: readonly LoudnessRow[]): string {
  const show = ({ meanLufs, deviationLu, farthestLu }: Spread) =>
    `${meanLufs.toFixed(1)} ± ${deviationLu.toFixed(2)}, ${farthestLu.toFixed(2)}`;
  const cells = rows.map(({ voice, pieces, before, after, peakAfter }) => [
    voice,
    String(pieces),
    show(before),
    show(after),
    peakAfter.toFixed(2),
  ]);
  const head = ["level: LUFS ± deviation, farthest", "pieces", "as made", "with the gain", "peak"];
  return table(head, cells);
}

/** Sentences of which one half is for fitting and the other for measuring, spread over the whole file. */
function heldOut(): string[] {
  const lines = corpusLines("kk-heldout.txt.br");
  const speakable = lines
    .map((line) => line.trim().toLowerCase())
    .filter((line) => /^[а-яёәғқңөұүһі ,.!?-]{8,160}$/.test(line));
  const stride = Math.floor(speakable.length / SENTENCES);
  return speakable.filter((_, index) => index % stride === 0).slice(0, SENTENCES);
}

function jobsOf(
  { id, voices }: MelSynthesizerManifest,
  texts: readonly string[],
  half: 0 | 1,
  limit = Number.POSITIVE_INFINITY,
): SynthesisJob[] {
  const chosen = texts.filter((_, i) => i % 2 === half).slice(0, limit);
  return voices.flatMap(({ name }) =>
    chosen.map((spokenText) => ({
      modelId: id,
      voice: name,
      spokenText,
      speed: 1,
      nfe: NFE,
      seed: seedOf(spokenText),
    })),
  );
}

/** A piece with its samples straight from the vocoder: before any gain, including the surrounding silence. */
async function sampleOf(
  model: FlowMatching,
  job: SynthesisJob,
): Promise<LevelSample & { piece: SolverPiece }> {
  const piece = await model.begin(job);
  await model.solveChunk(piece);
  const trim = model.trimOf(piece);
  const gain = piece.gain.at(-1)!.gain;
  const { hopSamples } = model.manifest;
  const frames = trim.silentFramesBefore + trim.stop - trim.start + trim.silentFramesAfter;
  const pcm = new Float32Array(frames * hopSamples);
  for (let start = trim.start; start < trim.stop; ) {
    const window = model.windowOf(piece, start)!;
    const [part] = await model.vocode([{ piece, window }]);
    for (let i = 0; i < part!.length; i++) part![i]! /= gain;
    pcm.set(part!, (trim.silentFramesBefore + start - trim.start) * hopSamples);
    start = window.end;
  }
  return { piece, pcm, trim, mel: piece.mel, voice: job.voice };
}

function rowOf(voice: string, measured: readonly Measured[]): LoudnessRow {
  return {
    voice,
    pieces: measured.length,
    before: spreadOf(measured.map(({ beforeLufs }) => beforeLufs)),
    after: spreadOf(measured.map(({ afterLufs }) => afterLufs)),
    peakAfter: Math.max(...measured.map(({ peakAfter }) => peakAfter)),
  };
}

function spreadOf(levels: readonly number[]): Spread {
  const mean = levels.reduce((sum, level) => sum + level, 0) / levels.length;
  const distances = levels.map((level) => Math.abs(level - mean));
  const deviationLu = Math.sqrt(distances.reduce((sum, one) => sum + one * one, 0) / levels.length);
  return { meanLufs: mean, deviationLu, farthestLu: Math.max(...distances) };
}
