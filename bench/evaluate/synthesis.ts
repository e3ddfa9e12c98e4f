import { readFile } from "node:fs/promises";
import { resample } from "../../core/domain/audio/resample.js";
import type { Chunking } from "../../core/domain/synthesis/solver-chunks.js";
import { readPackage } from "../../native/models/find-packages.js";
import { FlowMatching } from "../../native/models/flow-matching/flow-matching.js";
import type { FlowMatchingContents } from "../../native/models/flow-matching/manifest.js";
import type { MelSynthesizerManifest } from "../../native/models/manifest.js";
import { decoderOf, type LoadedRecognizer, loadRecognizerParts } from "./acoustics.js";
import { decodeGreedily } from "./decode-greedily.js";
import { type ErrorRates, errorRates } from "./error-rates.js";
import { groupBy } from "./group-by.js";
import { KeptSpeaker } from "./kept-speech.js";
import { hopCentres, melCepstra, warp } from "./mel-cepstra.js";
import { MODELS, RECIPES } from "./paths.js";
import { jitterOf, type PitchRange, pitchCorrelation, trackPitch } from "./pitch.js";
import { prepareSet } from "./prepare.js";
import { percent, table } from "./report.js";
import { readSamples } from "./samples.js";

const SEED = 1;
/** Silence before and after the speech, as in the recogniser's evaluation set. */
const PADDING_SECONDS = 0.3;

/**
 * One configuration of one voice at one speed, compared with the reference speech at that speed.
 */
interface SynthesisRow {
  readonly voice: string;
  readonly speed: number;
  /** Solver steps, or null for the reference speech itself. */
  readonly nfe: number | null;
  /** How pieces were chunked; absent where they are solved whole. */
  readonly chunking?: Chunking;
  readonly greedy: ErrorRates;
  readonly beam: ErrorRates;
  /**
   * Mean over sentences, in dB. For the reference itself, this and the next two fields compare it with
   * another take of the same speaker.
   */
  readonly melCepstralDistortionDb: number;
  /** Mean over sentences of |length - reference length| / reference length. */
  readonly durationError: number;
  /**
   * Mean over sentences of the correlation of log F0 with the reference's, over frames paired by the warping.
   */
  readonly pitchCorrelation: number;
  /** Jitter (local), mean over sentences. */
  readonly jitter: number;
  /** Null if an earlier run synthesized the speech. */
  readonly realTimeFactor: number | null;
}

export interface SynthesisReport {
  readonly modelId: string;
  readonly recognizerId: string;
  readonly rows: readonly SynthesisRow[];
}

interface Sentence {
  readonly voice: string;
  readonly speed: number;
  readonly text: string;
  readonly pcm: Float32Array;
  /** Another take of the reference's speaker, with different pitch flutter and noises. */
  readonly againPcm: Float32Array;
  readonly range: PitchRange;
}

interface Spoken {
  readonly text: string;
  readonly greedy: string;
  readonly beam: string;
  readonly distortionDb: number;
  readonly durationError: number;
  readonly pitchCorrelation: number;
  readonly jitter: number;
  readonly computeSeconds: number;
  readonly audioSeconds: number;
}

type Listener = (pcm: Float32Array) => Promise<{ greedy: string; beam: string }>;

/** Speaks the reference sentences, and transcribes both the result and the reference. */
export async function evaluateSynthesis(options: {
  readonly modelId: string;
  readonly recognizerId: string;
  readonly limit: number;
  /** Numbers of solver steps to speak with. */
  readonly nfe: readonly number[];
  /** Speeds to speak at; 1 is the usual speed of the training speech. */
  readonly speeds: readonly number[];
  /** Whether to speak in growing chunks, too. */
  readonly isChunked: boolean;
}): Promise<SynthesisReport> {
  const folder = MODELS + options.modelId;
  const synthesizer = await readPackage<MelSynthesizerManifest, FlowMatchingContents>(folder, "synthesis");
  const { manifest } = synthesizer;
  const model = await FlowMatching.load(synthesizer, { intraOpThreads: 1 });
  const speaker = new KeptSpeaker(model);
  const recognizer = await loadRecognizerParts(MODELS + options.recognizerId);
  const listen = listenerOf(recognizer, manifest.sampleRateHz);
  const rows: SynthesisRow[] = [];
  const sentences = await readReference(manifest, options.speeds);
  for (const group of groupBy(sentences, ({ voice, speed }) => `${voice} ${speed}`).values()) {
    const chosen = group.slice(0, options.limit);
    const reference: Spoken[] = [];
    for (const sentence of chosen) reference.push(await listenToReference(sentence, listen, manifest));
    rows.push(rowOf(chosen[0]!, null, reference));
    const chunkings: Chunking[] = options.isChunked ? ["whole", "growing"] : ["whole"];
    for (const way of options.nfe.flatMap((nfe) => chunkings.map((chunking) => ({ nfe, chunking })))) {
      const spoken: Spoken[] = [];
      for (const sentence of chosen) spoken.push(await speakAndListen(speaker, sentence, way, listen));
      const row = rowOf(chosen[0]!, way.nfe, spoken);
      rows.push(way.chunking === "whole" ? row : { ...row, chunking: way.chunking });
      console.error(`${chosen[0]!.voice}, speed ${chosen[0]!.speed}, nfe ${way.nfe}, ${way.chunking}`);
    }
  }
  await model.release();
  await recognizer.graphs.release();
  return { modelId: options.modelId, recognizerId: options.recognizerId, rows };
}

/** Renders the report as Markdown. */
export function synthesisTable(report: SynthesisReport): string {
  const pair = (rates: ErrorRates) =>
    `${percent(rates.characterErrorRate)} / ${percent(rates.wordErrorRate)}`;
  const rows = report.rows.map((row) => [
    row.voice,
    String(row.speed),
    row.nfe === null ? "reference" : `nfe ${row.nfe}${row.chunking === undefined ? "" : ", in chunks"}`,
    String(row.beam.pairs),
    pair(row.greedy),
    pair(row.beam),
    row.melCepstralDistortionDb.toFixed(2),
    percent(row.durationError),
    row.pitchCorrelation.toFixed(2),
    percent(row.jitter),
    row.realTimeFactor?.toFixed(3) ?? "",
  ]);
  const head = [
    "voice",
    "speed",
    "speech",
    "n",
    "greedy",
    "beam + LM",
    "MCD, dB",
    "duration error, %",
    "F0 correlation",
    "jitter, %",
    "RTF",
  ];
  const title = `### ${report.modelId} transcribed by ${report.recognizerId}: CER / WER, %`;
  return `${title}\n\n${table(head, rows)}`;
}

async function readReference(
  manifest: MelSynthesizerManifest,
  speeds: readonly number[],
): Promise<Sentence[]> {
  const folder = prepareSet("reference");
  const lines = (await readFile(`${folder}index.jsonl`, "utf8")).split("\n").filter((line) => line !== "");
  const sentences: Sentence[] = [];
  for (const line of lines) {
    const row = JSON.parse(line) as ReferenceRow;
    if (!speeds.includes(row.speed)) continue;
    sentences.push({
      voice: row.voice,
      speed: row.speed,
      text: row.text,
      pcm: await readSamples(folder + row.file, manifest.sampleRateHz),
      againPcm: await readSamples(folder + againFile(row), manifest.sampleRateHz),
      range: { lowestHz: row.f0_range[0], highestHz: row.f0_range[1] },
    });
  }
  function againFile({ again }: ReferenceRow): string {
    if (again !== undefined) return again;
    throw new Error(
      `Cannot evaluate: ${folder} has one take of each sentence; remove the folder to synthesize it again`,
    );
  }
  for (const { name } of manifest.voices) {
    const missing = speeds.find((s) => !sentences.some(({ voice, speed }) => voice === name && speed === s));
    if (missing === undefined) continue;
    throw new Error(
      `Cannot evaluate: ${folder} has no speech of ${name} at speed ${missing}; remove the folder to synthesize it again, ` +
        `or add the speed to ${RECIPES}synthesizer/reference.py`,
    );
  }
  return sentences;
}

interface ReferenceRow {
  readonly file: string;
  readonly again?: string;
  readonly voice: string;
  readonly speed: number;
  readonly text: string;
  readonly f0_range: readonly [lowestHz: number, highestHz: number];
}

/** Transcribes speech at the synthesizer's rate, through the service's own path. */
export function listenerOf(recognizer: LoadedRecognizer, fromHz: number): Listener {
  const { graphs, manifest } = recognizer;
  const search = decoderOf(recognizer);
  const padding = Math.round(PADDING_SECONDS * manifest.sampleRateHz);
  return async (pcm) => {
    const heard = resample(pcm, { fromHz, toHz: manifest.sampleRateHz });
    const padded = new Float32Array(heard.length + 2 * padding);
    padded.set(heard, padding);
    const { logProbs, frames } = await graphs.decodeUtterance(padded);
    const greedy = decodeGreedily(logProbs, frames, graphs.vocabulary).text;
    return { greedy, beam: search.decode(logProbs, frames).text };
  };
}

/** Computes pitch and cepstra of an utterance, hop by hop. */
function analyse(pcm: Float32Array, sampleRateHz: number, range: PitchRange) {
  const cepstra = melCepstra(pcm, sampleRateHz);
  const centres = hopCentres(cepstra.length, sampleRateHz);
  const hz = trackPitch(pcm, sampleRateHz, centres, range);
  return { cepstra, hz, jitter: jitterOf(pcm, sampleRateHz, centres, hz) };
}

async function listenToReference(
  sentence: Sentence,
  listen: Listener,
  { sampleRateHz }: MelSynthesizerManifest,
): Promise<Spoken> {
  const { text, pcm, againPcm, range } = sentence;
  const compared = compare(sentence, againPcm, sampleRateHz);
  const { jitter } = analyse(pcm, sampleRateHz, range);
  return {
    text,
    ...(await listen(pcm)),
    ...compared,
    jitter,
    computeSeconds: Number.NaN,
    audioSeconds: Number.NaN,
  };
}

async function speakAndListen(
  speaker: KeptSpeaker,
  sentence: Sentence,
  way: { readonly nfe: number; readonly chunking: Chunking },
  listen: Listener,
): Promise<Spoken> {
  const { text, voice, speed } = sentence;
  const { pcm, sampleRateHz, computeSeconds } = await speaker.speak({
    voice,
    text,
    speed,
    ...way,
    seed: SEED,
  });
  return {
    text,
    ...(await listen(pcm)),
    ...compare(sentence, pcm, sampleRateHz),
    computeSeconds: computeSeconds ?? Number.NaN,
    audioSeconds: pcm.length / sampleRateHz,
  };
}

/** Measures the distance of speech from the reference, and its own jitter. */
function compare({ pcm, range }: Sentence, spokenPcm: Float32Array, sampleRateHz: number) {
  const reference = analyse(pcm, sampleRateHz, range);
  const spoken = analyse(spokenPcm, sampleRateHz, range);
  const { distortionDb, pairs } = warp(reference.cepstra, spoken.cepstra);
  return {
    distortionDb,
    durationError: Math.abs(spokenPcm.length - pcm.length) / pcm.length,
    pitchCorrelation: pitchCorrelation(pairs.map(([i, j]) => [reference.hz[i]!, spoken.hz[j]!])),
    jitter: spoken.jitter,
  };
}

function rowOf({ voice, speed }: Sentence, nfe: number | null, spoken: readonly Spoken[]): SynthesisRow {
  const sum = (of: (one: Spoken) => number) => spoken.reduce((total, one) => total + of(one), 0);
  const mean = (of: (one: Spoken) => number) => {
    const known = spoken.map(of).filter((value) => !Number.isNaN(value));
    return known.reduce((total, value) => total + value, 0) / known.length;
  };
  const realTimeFactor = sum((one) => one.computeSeconds) / sum((one) => one.audioSeconds);
  return {
    voice,
    speed,
    nfe,
    greedy: errorRates(spoken.map(({ text, greedy }) => ({ reference: text, hypothesis: greedy }))),
    beam: errorRates(spoken.map(({ text, beam }) => ({ reference: text, hypothesis: beam }))),
    melCepstralDistortionDb: mean((one) => one.distortionDb),
    durationError: mean((one) => one.durationError),
    pitchCorrelation: mean((one) => one.pitchCorrelation),
    jitter: mean((one) => one.jitter),
    realTimeFactor: Number.isNaN(realTimeFactor) ? null : realTimeFactor,
  };
}
