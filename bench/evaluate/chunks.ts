import { type ChunkRules, GROWING_CHUNKS } from "../../core/domain/synthesis/solver-chunks.js";
import type { SynthesisJob } from "../../core/ports/synthesizer.js";
import { readPackage } from "../../native/models/find-packages.js";
import { FlowMatching } from "../../native/models/flow-matching/flow-matching.js";
import type { FlowMatchingContents } from "../../native/models/flow-matching/manifest.js";
import { PATCH_FRAMES, type SolverPiece } from "../../native/models/flow-matching/solver-piece.js";
import type { MelSynthesizerManifest } from "../../native/models/manifest.js";
import { corpusLines } from "../support/corpora.js";
import { integratedLoudness } from "../support/loudness.js";
import { addedClickDb } from "../support/seams.js";
import { hopCentres, melCepstra, warp } from "./mel-cepstra.js";
import { MODELS } from "./paths.js";
import { pitchCorrelation, trackPitch } from "./pitch.js";
import { table } from "./report.js";

const NFE = 16;
const PITCH = { lowestHz: 60, highestHz: 420 };
const RULES: readonly ChunkRules[] = [
  ...[10, 16, 12, 8, 6].map((context) => ({ ...GROWING_CHUNKS, context })),
  ...[0, 8].map((overlap) => ({ ...GROWING_CHUNKS, overlap })),
  ...[12, 20, 24].map((first) => ({ ...GROWING_CHUNKS, first })),
];

/** One way to cut pieces into chunks, compared with solving each piece as a whole. */
interface ChunkRow extends ChunkRules {
  /**
   * Patches of the first chunk with its context, and the seconds of audio that it yields; means over pieces.
   */
  readonly firstPatches: number;
  readonly firstSeconds: number;
  /** Patches solved, divided by the patches in the pieces. */
  readonly work: number;
  /** Mean absolute distance of normalised log-mels over all pieces, and the largest of a piece. */
  readonly melDistance: number;
  readonly largestMelDistance: number;
  readonly melCepstralDistortionDb: number;
  readonly pitchCorrelation: number;
  /** Loudest click at a border between two chunks, relative to the surrounding speech. */
  readonly worstSeamDb: number;
  /**
   * Level of a chunked piece compared with the same piece synthesized whole: mean, deviation, extreme, and
   * the largest change of gain within a piece.
   */
  readonly levelDeviationLu: number;
  readonly farthestLevelLu: number;
  /** Deviation of the levels of all pieces, whole and in chunks. */
  readonly wholeSpreadLu: number;
  readonly spreadLu: number;
  readonly largestGlideDb: number;
}

export interface ChunkReport {
  readonly modelId: string;
  readonly pieces: number;
  readonly rows: readonly ChunkRow[];
}

/** Solves held-out sentences in chunks of several lengths with several lengths of context. */
export async function evaluateChunks(options: {
  readonly modelId: string;
  readonly limit: number;
}): Promise<ChunkReport> {
  const folder = MODELS + options.modelId;
  const synthesizer = await readPackage<MelSynthesizerManifest, FlowMatchingContents>(folder, "synthesis");
  const model = await FlowMatching.load(synthesizer, { intraOpThreads: 1 });
  const jobs = jobsOf(synthesizer.manifest, Math.min(options.limit, 20));
  const wholes: Spoken[] = [];
  for (const job of jobs) wholes.push(await speak(model, { ...job, chunking: "whole" }));
  const rows: ChunkRow[] = [];
  for (const rules of RULES) {
    const compared: Comparison[] = [];
    for (const [index, job] of jobs.entries()) {
      const chunked = await speak(model, { ...job, chunking: "growing" }, rules);
      compared.push(compare(wholes[index]!, chunked, model.manifest));
    }
    rows.push(rowOf(rules, compared));
  }
  await model.release();
  return { modelId: options.modelId, pieces: jobs.length, rows };
}

/** Renders the report as Markdown. */
export function chunkTable({ modelId, pieces, rows }: ChunkReport): string {
  const cells = rows.map((row) => [
    `${row.first}, ${2 * row.first} … ${row.longest}; ${row.context}, ${row.overlap}`,
    `${row.firstPatches.toFixed(0)}, ${row.firstSeconds.toFixed(2)} s`,
    row.work.toFixed(2),
    `${row.melDistance.toExponential(0)}, ${row.largestMelDistance.toExponential(0)}`,
    row.melCepstralDistortionDb.toFixed(3),
    row.pitchCorrelation.toFixed(4),
    row.worstSeamDb.toFixed(0),
    `${row.levelDeviationLu.toFixed(2)}, ${row.farthestLevelLu.toFixed(2)}`,
    `${row.wholeSpreadLu.toFixed(2)}, ${row.spreadLu.toFixed(2)}`,
    row.largestGlideDb.toFixed(2),
  ]);
  const head = [
    "chunks; context, overlap",
    "first: patches, sound",
    "work",
    "mel, mean and largest",
    "MCD, dB",
    "F0 correlation",
    "worst seam, dB",
    "level against whole, LU",
    "spread, whole and so",
    "glide, dB",
  ];
  return `### ${modelId}: ${pieces} pieces in chunks, compared with whole ones\n\n${table(head, cells)}`;
}

function jobsOf({ id, voices }: MelSynthesizerManifest, count: number): SynthesisJob[] {
  const speakable = corpusLines("kk-heldout.txt.br")
    .map((line) => line.trim().toLowerCase())
    .filter((line) => /^[а-яёәғқңөұүһі ,.!?-]{40,200}$/.test(line));
  const stride = Math.max(1, Math.floor(speakable.length / count));
  const texts = speakable.filter((_, index) => index % stride === 0).slice(0, count);
  return voices.flatMap(({ name }) =>
    texts.map((spokenText) => ({ modelId: id, voice: name, spokenText, speed: 1, nfe: NFE, seed: 1 })),
  );
}

interface Spoken {
  readonly piece: SolverPiece;
  /** The samples as sent, without the silence around them. */
  readonly pcm: Float32Array;
  /** The samples at the model's own level, before any gain. */
  readonly rawPcm: Float32Array;
}

async function speak(model: FlowMatching, job: SynthesisJob, rules?: ChunkRules): Promise<Spoken> {
  const piece = await model.begin(job, undefined, rules);
  const parts: { readonly pcm: Float32Array; readonly rawPcm: Float32Array }[] = [];
  for (let start: number | null = null; model.isUnsolved(piece); ) {
    await model.solveChunk(piece);
    start ??= piece.trim?.start ?? null;
    for (let window = start === null ? null : model.windowOf(piece, start); window !== null; ) {
      const [pcm] = await model.vocode([{ piece, window }]);
      const gain = piece.gain;
      piece.gain = [];
      const [rawPcm] = await model.vocode([{ piece, window }]);
      piece.gain = gain;
      parts.push({ pcm: pcm!, rawPcm: rawPcm! });
      start = window.end;
      window = model.windowOf(piece, start);
    }
  }
  const joined = (of: (part: (typeof parts)[number]) => Float32Array) =>
    Float32Array.from(parts.flatMap((part) => [...of(part)]));
  return { piece, pcm: joined(({ pcm }) => pcm), rawPcm: joined(({ rawPcm }) => rawPcm) };
}

interface Comparison {
  readonly firstPatches: number;
  readonly firstSeconds: number;
  readonly patches: number;
  readonly solvedPatches: number;
  readonly melDistance: number;
  readonly distortionDb: number;
  readonly correlation: number;
  readonly seamDb: number;
  readonly wholeLufs: number;
  readonly lufs: number;
  readonly glideDb: number;
}

function compare(
  whole: Spoken,
  { piece, pcm, rawPcm }: Spoken,
  manifest: MelSynthesizerManifest,
): Comparison {
  const { hopSamples, melBins, sampleRateHz } = manifest;
  const { start } = piece.trim!;
  const first = piece.chunks[0]!;
  const borders = piece.chunks.slice(1).map((chunk) => (chunk.start * PATCH_FRAMES - start) * hopSamples);
  const length = piece.frames * melBins;
  let distance = 0;
  for (let i = 0; i < length; i++) distance += Math.abs(piece.mel[i]! - whole.piece.mel[i]!) / length;
  const cepstra = melCepstra(pcm, sampleRateHz);
  const centres = hopCentres(cepstra.length, sampleRateHz);
  const { distortionDb, pairs } = warp(melCepstra(whole.pcm, sampleRateHz), cepstra);
  const pitchOf = (samples: Float32Array) => trackPitch(samples, sampleRateHz, centres, PITCH);
  const [wholeHz, hz] = [pitchOf(whole.pcm), pitchOf(pcm)];
  const levels = piece.gain.map(({ gain }) => 20 * Math.log10(gain));
  return {
    firstPatches: first.contextEnd,
    firstSeconds:
      ((Math.min(first.end * PATCH_FRAMES, piece.trim!.stop) - start) * hopSamples) / sampleRateHz,
    patches: piece.patches,
    solvedPatches: piece.chunks.reduce((sum, chunk) => sum + chunk.contextEnd - chunk.contextStart, 0),
    melDistance: distance,
    distortionDb,
    correlation: pitchCorrelation(pairs.map(([i, j]) => [wholeHz[i] ?? 0, hz[j] ?? 0])),
    seamDb: Math.max(
      -120,
      ...borders.map((border) => addedClickDb(whole.rawPcm, rawPcm, border, sampleRateHz)),
    ),
    wholeLufs: integratedLoudness(whole.pcm, sampleRateHz),
    lufs: integratedLoudness(pcm, sampleRateHz),
    glideDb: Math.max(0, ...levels.slice(1).map((level, index) => Math.abs(level - levels[index]!))),
  };
}

function rowOf(rules: ChunkRules, compared: readonly Comparison[]): ChunkRow {
  const sum = (of: (one: Comparison) => number) => compared.reduce((total, one) => total + of(one), 0);
  const mean = (of: (one: Comparison) => number) => sum(of) / compared.length;
  const deviation = (of: (one: Comparison) => number) => Math.sqrt(mean((one) => (of(one) - mean(of)) ** 2));
  const most = (of: (one: Comparison) => number) => Math.max(...compared.map(of));
  return {
    ...rules,
    firstPatches: mean((one) => one.firstPatches),
    firstSeconds: mean((one) => one.firstSeconds),
    work: sum((one) => one.solvedPatches) / sum((one) => one.patches),
    melDistance: mean((one) => one.melDistance),
    largestMelDistance: most((one) => one.melDistance),
    melCepstralDistortionDb: mean((one) => one.distortionDb),
    pitchCorrelation: mean((one) => one.correlation),
    worstSeamDb: most((one) => one.seamDb),
    levelDeviationLu: Math.sqrt(mean((one) => (one.lufs - one.wholeLufs) ** 2)),
    farthestLevelLu: most((one) => Math.abs(one.lufs - one.wholeLufs)),
    wholeSpreadLu: deviation((one) => one.wholeLufs),
    spreadLu: deviation((one) => one.lufs),
    largestGlideDb: most((one) => one.glideDb),
  };
}
