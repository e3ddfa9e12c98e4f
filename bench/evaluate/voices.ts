import { readPackage } from "../../native/models/find-packages.js";
import { FlowMatching } from "../../native/models/flow-matching/flow-matching.js";
import type { FlowMatchingContents } from "../../native/models/flow-matching/manifest.js";
import { speakAlone } from "../../native/models/flow-matching/speak-alone.js";
import type { ManifestVoice, MelSynthesizerManifest } from "../../native/models/manifest.js";
import { saveResult } from "../save-result.js";
import { loadRecognizerParts } from "./acoustics.js";
import { type ErrorRates, errorRates } from "./error-rates.js";
import { hopCentres, melCepstra } from "./mel-cepstra.js";
import { MODELS } from "./paths.js";
import { jitterOf, trackPitch } from "./pitch.js";
import { percent, table } from "./report.js";
import { heldOut } from "./schedules.js";
import { listenerOf } from "./synthesis.js";

const SENTENCES = 40;
const NFE = 16;
/**
 * Tracking range around a voice's mean, which is wider below it because pitch falls farther than it rises.
 */
const LOWEST_PITCH = 0.5;
const HIGHEST_PITCH = 1.6;

/**
 * One voice over the same sentences: as trained, at its own pace and breath, and also with its own melody.
 */
interface VoiceRow {
  readonly voice: string;
  readonly manner: "as trained" | "pace, breath" | "own";
  readonly sentences: number;
  /** Mean length of a sentence, including its edges. */
  readonly seconds: number;
  /**
   * Standard deviation of the pitch of voiced frames in semitones, and from the 5th to the 95th percentile.
   */
  readonly deviationSemitones: number;
  readonly rangeSemitones: number;
  /** Jitter (local), mean over sentences. */
  readonly jitter: number;
  readonly beam: ErrorRates;
  readonly greedy: ErrorRates;
}

export interface VoicesReport {
  readonly modelId: string;
  readonly recognizerId: string;
  readonly rows: readonly VoiceRow[];
}

/** Speaks the same held-out sentences with every voice, with and without its own manner. */
export async function evaluateVoices(options: {
  readonly modelId: string;
  readonly recognizerId: string;
  readonly limit: number;
  /** Requested speed. */
  readonly speed: number;
}): Promise<VoicesReport> {
  const { modelId, recognizerId, limit, speed } = options;
  const synthesizer = await readPackage<MelSynthesizerManifest, FlowMatchingContents>(
    MODELS + modelId,
    "synthesis",
  );
  const model = await FlowMatching.load(synthesizer, { intraOpThreads: 1 });
  const recognizer = await loadRecognizerParts(MODELS + recognizerId);
  const listen = listenerOf(recognizer, model.manifest.sampleRateHz);
  const texts = heldOut(Math.min(limit, SENTENCES));
  const rows: VoiceRow[] = [];
  for (const voice of model.manifest.voices) {
    const { name, pace = 1, breath, melody } = voice;
    const plain = { modelId, voice: name, nfe: NFE, seed: 1, speed };
    for (const [manner, job] of [
      ["as trained", plain],
      ["pace, breath", { ...plain, speed: speed * pace, breath }],
      ["own", { ...plain, speed: speed * pace, breath, melody }],
    ] as const) {
      const spoken = [];
      for (const spokenText of texts) {
        const pcm = await speakAlone(model, { ...job, spokenText });
        spoken.push({ spokenText, pcm, ...pitchOf(pcm, voice, model.manifest), ...(await listen(pcm)) });
      }
      rows.push(rowOf(name, manner, spoken, model.manifest.sampleRateHz));
      console.error(`${name}, ${manner}`);
    }
  }
  await model.release();
  await recognizer.graphs.release();
  if (limit === Number.POSITIVE_INFINITY && speed === 1) {
    const parameters = { model: modelId, recognizer: recognizerId, nfe: NFE, sentences: texts.length };
    console.log(`saved ${await saveResult("voices", { parameters, rows })}`);
  }
  return { modelId, recognizerId, rows };
}

/** Renders the report as Markdown. */
export function voicesTable({ rows }: VoicesReport): string {
  const rates = ({ characterErrorRate, wordErrorRate }: ErrorRates) =>
    `${percent(characterErrorRate)} / ${percent(wordErrorRate)}`;
  const cells = rows.map((row) => [
    row.voice,
    row.manner,
    row.seconds.toFixed(2),
    row.deviationSemitones.toFixed(2),
    row.rangeSemitones.toFixed(1),
    percent(row.jitter),
    rates(row.greedy),
    rates(row.beam),
  ]);
  const head = ["voice", "manner", "s", "pitch: deviation, st", "5 to 95 %, st", "jitter, %"];
  return table([...head, "greedy CER / WER, %", "beam + LM"], cells);
}

interface Spoken {
  readonly spokenText: string;
  readonly pcm: Float32Array;
  readonly semitones: readonly number[];
  readonly jitter: number;
  readonly greedy: string;
  readonly beam: string;
}

/** Converts pitch of voiced frames to semitones above the voice's mean. */
function pitchOf(
  pcm: Float32Array,
  { pitchHz = 160 }: ManifestVoice,
  { sampleRateHz }: MelSynthesizerManifest,
) {
  const centres = hopCentres(melCepstra(pcm, sampleRateHz).length, sampleRateHz);
  const range = { lowestHz: pitchHz * LOWEST_PITCH, highestHz: pitchHz * HIGHEST_PITCH };
  const hz = trackPitch(pcm, sampleRateHz, centres, range);
  const voiced = [...hz].filter((value) => value > 0);
  const semitones = voiced.map((value) => 12 * Math.log2(value / pitchHz));
  return { semitones, jitter: jitterOf(pcm, sampleRateHz, centres, hz) };
}

function rowOf(
  voice: string,
  manner: VoiceRow["manner"],
  spoken: readonly Spoken[],
  sampleRateHz: number,
): VoiceRow {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const pitch = spoken.flatMap(({ semitones }) => semitones).toSorted((a, b) => a - b);
  const middle = mean(pitch);
  const at = (share: number) => pitch[Math.floor(share * (pitch.length - 1))]!;
  const heard = (kind: "greedy" | "beam") =>
    errorRates(spoken.map((one) => ({ reference: one.spokenText, hypothesis: one[kind] })));
  return {
    voice,
    manner,
    sentences: spoken.length,
    seconds: mean(spoken.map(({ pcm }) => pcm.length / sampleRateHz)),
    deviationSemitones: Math.sqrt(mean(pitch.map((value) => (value - middle) ** 2))),
    rangeSemitones: at(0.95) - at(0.05),
    jitter: mean(spoken.map(({ jitter }) => jitter)),
    greedy: heard("greedy"),
    beam: heard("beam"),
  };
}
