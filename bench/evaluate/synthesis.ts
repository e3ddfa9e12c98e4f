import { readFile } from "node:fs/promises";
import { FlowMatching } from "../../native/onnx/flow-matching.js";
import { readManifest, type SynthesizerManifest } from "../../native/onnx/model-package.js";
import { type ErrorRates, errorRates } from "../../src/domain/accuracy/error-rate.js";
import { resample } from "../../src/domain/audio/resample.js";
import { BeamDecoder } from "../../src/domain/decoding/beam-decoder.js";
import { decodeGreedily } from "../../src/domain/decoding/greedy.js";
import { PrefixBeamSearch } from "../../src/domain/decoding/prefix-beam-search.js";
import { type LoadedRecognizer, loadRecognizerParts } from "./acoustics.js";
import { groupBy } from "./group-by.js";
import { melCepstra, melCepstralDistortion } from "./mel-cepstra.js";
import { MODELS } from "./paths.js";
import { prepareSet } from "./prepare.js";
import { percent, table } from "./report.js";
import { readWav } from "./wav.js";

const SEED = 1;
/** Silence in front of and behind what the recogniser hears, as in its evaluation set. */
const PADDING_SECONDS = 0.3;

/** One way to speak the sentences of one voice, compared with the reference speech. */
export interface SynthesisRow {
  readonly voice: string;
  /** Solver steps, or null for the reference speech itself. */
  readonly nfe: number | null;
  readonly greedy: ErrorRates;
  readonly beam: ErrorRates;
  /** Mean over sentences, dB; null for the reference. */
  readonly melCepstralDistortionDb: number | null;
  /** Mean over sentences of |length - reference length| / reference length; null for the reference. */
  readonly durationError: number | null;
  readonly realTimeFactor: number | null;
}

export interface SynthesisReport {
  readonly modelId: string;
  readonly recognizerId: string;
  readonly rows: readonly SynthesisRow[];
}

interface Sentence {
  readonly voice: string;
  readonly text: string;
  readonly pcm: Float32Array;
}

interface Spoken {
  readonly text: string;
  readonly greedy: string;
  readonly beam: string;
  readonly distortionDb: number;
  readonly durationError: number;
  readonly computeSeconds: number;
  readonly audioSeconds: number;
}

type Listener = (pcm: Float32Array) => Promise<{ greedy: string; beam: string }>;

/** Speaks the reference sentences and lets the recogniser write down what it hears, in them and in the reference. */
export async function evaluateSynthesis(options: {
  readonly modelId: string;
  readonly recognizerId: string;
  readonly limit: number;
  /** Numbers of solver steps to speak with. */
  readonly nfe: readonly number[];
}): Promise<SynthesisReport> {
  const folder = MODELS + options.modelId;
  const manifest = (await readManifest(folder)) as SynthesizerManifest;
  const model = await FlowMatching.load({ folder, manifest }, { intraOpThreads: 1 });
  const recognizer = await loadRecognizerParts(MODELS + options.recognizerId);
  const listen = listenerOf(recognizer, manifest.sampleRateHz);
  const rows: SynthesisRow[] = [];
  for (const [voice, sentences] of groupBy(await readReference(manifest), (sentence) => sentence.voice)) {
    const chosen = sentences.slice(0, options.limit);
    const reference: Spoken[] = [];
    for (const { text, pcm } of chosen) reference.push({ text, ...(await listen(pcm)), ...NOTHING_COMPARED });
    rows.push(rowOf(voice, null, reference));
    for (const nfe of options.nfe) {
      const spoken: Spoken[] = [];
      for (const sentence of chosen) spoken.push(await speakAndListen(model, sentence, nfe, listen));
      rows.push(rowOf(voice, nfe, spoken));
    }
  }
  await model.release();
  await recognizer.graphs.release();
  return { modelId: options.modelId, recognizerId: options.recognizerId, rows };
}

/** The report as Markdown. */
export function synthesisTable(report: SynthesisReport): string {
  const pair = (rates: ErrorRates) =>
    `${percent(rates.characterErrorRate)} / ${percent(rates.wordErrorRate)}`;
  const rows = report.rows.map((row) => [
    row.voice,
    row.nfe === null ? "reference" : `nfe ${row.nfe}`,
    String(row.beam.pairs),
    pair(row.greedy),
    pair(row.beam),
    row.melCepstralDistortionDb?.toFixed(2) ?? "",
    row.durationError === null ? "" : percent(row.durationError),
    row.realTimeFactor?.toFixed(3) ?? "",
  ]);
  const head = ["voice", "speech", "n", "greedy", "beam + LM", "MCD, dB", "duration error, %", "RTF"];
  const title = `### ${report.modelId} heard by ${report.recognizerId}: CER / WER, %`;
  return `${title}\n\n${table(head, rows)}`;
}

const NOTHING_COMPARED = {
  distortionDb: Number.NaN,
  durationError: Number.NaN,
  computeSeconds: Number.NaN,
  audioSeconds: Number.NaN,
} as const;

async function readReference(manifest: SynthesizerManifest): Promise<Sentence[]> {
  const folder = prepareSet("reference");
  const lines = (await readFile(`${folder}index.jsonl`, "utf8")).split("\n").filter((line) => line !== "");
  const sentences: Sentence[] = [];
  for (const line of lines) {
    const { file, voice, text } = JSON.parse(line) as { file: string; voice: string; text: string };
    sentences.push({ voice, text, pcm: await readWav(folder + file, manifest.sampleRateHz) });
  }
  const missing = manifest.voices.find(({ name }) => !sentences.some(({ voice }) => voice === name));
  if (missing !== undefined) {
    throw new Error(
      `Cannot evaluate: ${folder} has no speech of ${missing.name}; remove it to have it made anew`,
    );
  }
  return sentences;
}

/** What the recogniser writes for speech at the synthesizer's rate, on the service's path. */
export function listenerOf({ graphs, languageModel, manifest }: LoadedRecognizer, fromHz: number): Listener {
  const search = new BeamDecoder(
    graphs.vocabulary,
    new PrefixBeamSearch(graphs.vocabulary, languageModel, manifest.decoding),
    manifest.decoding.evidencePerCharacter,
  );
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

async function speakAndListen(
  model: FlowMatching,
  sentence: Sentence,
  nfe: number,
  listen: Listener,
): Promise<Spoken> {
  const { sampleRateHz, id } = model.manifest;
  const { text, voice } = sentence;
  const before = performance.now();
  const pcm = await model.speakAlone({ modelId: id, voice, spokenText: text, speed: 1, nfe, seed: SEED });
  const computeSeconds = (performance.now() - before) / 1000;
  return {
    text,
    ...(await listen(pcm)),
    distortionDb: melCepstralDistortion(
      melCepstra(sentence.pcm, sampleRateHz),
      melCepstra(pcm, sampleRateHz),
    ),
    durationError: Math.abs(pcm.length - sentence.pcm.length) / sentence.pcm.length,
    computeSeconds,
    audioSeconds: pcm.length / sampleRateHz,
  };
}

function rowOf(voice: string, nfe: number | null, spoken: readonly Spoken[]): SynthesisRow {
  const sum = (of: (one: Spoken) => number) => spoken.reduce((total, one) => total + of(one), 0);
  const mean = (of: (one: Spoken) => number) => sum(of) / spoken.length;
  return {
    voice,
    nfe,
    greedy: errorRates(spoken.map(({ text, greedy }) => ({ reference: text, hypothesis: greedy }))),
    beam: errorRates(spoken.map(({ text, beam }) => ({ reference: text, hypothesis: beam }))),
    melCepstralDistortionDb: nfe === null ? null : mean((one) => one.distortionDb),
    durationError: nfe === null ? null : mean((one) => one.durationError),
    realTimeFactor: nfe === null ? null : sum((one) => one.computeSeconds) / sum((one) => one.audioSeconds),
  };
}
