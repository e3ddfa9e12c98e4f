import { type InferenceSession, Tensor } from "onnxruntime-node";
import { fadeEnds } from "../../../core/domain/audio/fade.js";
import { ServiceError } from "../../../core/domain/errors.js";
import { alignFrames } from "../../../core/domain/synthesis/alignment.js";
import { withBreath } from "../../../core/domain/synthesis/breath.js";
import { characterBounds } from "../../../core/domain/synthesis/character-bounds.js";
import { PulseTrain } from "../../../core/domain/synthesis/excitation.js";
import {
  applyGain,
  gainSoFar,
  type LoudnessModel,
  melLevelDb,
  pieceGain,
  withGain,
} from "../../../core/domain/synthesis/loudness.js";
import {
  type PitchColumns,
  type PitchedCondition,
  scaleMelody,
} from "../../../core/domain/synthesis/melody.js";
import { GaussianNoise } from "../../../core/domain/synthesis/noise.js";
import { type SolverSchedule, solverTimes } from "../../../core/domain/synthesis/schedule.js";
import { type PieceTrim, trimSoFar } from "../../../core/domain/synthesis/silence.js";
import {
  type ChunkRules,
  layOver,
  type SolverChunk,
  solverChunks,
} from "../../../core/domain/synthesis/solver-chunks.js";
import { paddedPatches } from "../../../core/domain/synthesis/solver-schedule.js";
import { type VocoderWindow, vocoderWindow } from "../../../core/domain/synthesis/vocoder-windows.js";
import type { SynthesisJob } from "../../../core/ports/synthesizer.js";
import { type GraphOptions, loadGraph } from "../graph.js";
import type { Graph, GraphContract } from "../graph-interface.js";
import type { ManifestVoice, MelSynthesizerManifest } from "../manifest.js";
import type { ModelPackage } from "../package.js";
import type { FlowMatchingContents } from "./manifest.js";
import { PieceCondition } from "./piece-condition.js";
import {
  type ChunkInFlight,
  PATCH_FRAMES,
  padRows,
  type SolverPiece,
  stepFeeds,
  type UnsolvedPiece,
} from "./solver-piece.js";

const ENCODER = {
  file: "encoder",
  inputs: ["tokens", "voice", "log_speed"],
  outputs: ["hidden", "log_duration"],
} as const satisfies GraphContract;
const CONDITION = {
  file: "condition",
  inputs: ["hidden", "frame_to_token", "position", "voice", "mask"],
  outputs: ["condition", "f0", "voicing"],
} as const satisfies GraphContract;
const STEP = {
  file: "step",
  inputs: ["x", "condition", "t", "dt", "voice", "mask"],
  outputs: ["x_next"],
  isRowwise: true,
} as const satisfies GraphContract;
const VOCODER = {
  file: "vocoder",
  inputs: ["mel", "f0", "voicing", "excitation", "noise"],
  outputs: ["pcm"],
  isRowwise: true,
} as const satisfies GraphContract;

/** Makes the vocoder's noise differ from the flow's. */
const VOCODER_SEED = 0x5bd1e995;
const WARM_UP_PATCHES = [8, 16, 32, 64, 128] as const;
const FADE_SECONDS = 0.005;

interface Graphs {
  readonly encoder: Graph;
  readonly condition: Graph;
  readonly step: Graph;
  readonly vocoder: Graph;
}

interface SynthesisParameters {
  readonly solver: SolverSchedule;
  readonly noiseTemperature: number;
  /** Frames on each side on which the vocoder's samples depend. */
  readonly vocoderReach: number;
  /** Frames on each side on which a frame's condition depends; if null, one run computes all of it. */
  readonly conditionReach: number | null;
  /** Mean of the normalised log-mel below which a frame is silent. */
  readonly silenceBelow: number;
  /** Loudness model; null if pieces keep their own loudness. */
  readonly loudness: LoudnessModel | null;
  readonly melody: PitchColumns | null;
}

export interface WindowOfPiece {
  readonly piece: SolverPiece;
  readonly window: VocoderWindow;
}

/**
 * The synthesizer's graphs: text encoder with durations, frame condition with pitch, one solver step with a
 * separate time per row, and the vocoder. Rows of a batch are independent, so a piece sounds the same alone
 * and in any batch. Runs are synchronous inside onnxruntime: for worker threads only.
 *
 * @see Lipman et al., "Flow Matching for Generative Modeling", 2023
 */
export class FlowMatching {
  readonly manifest: MelSynthesizerManifest;
  readonly #graphs: Graphs;
  readonly #tokenOf: ReadonlyMap<string, number>;
  readonly #parameters: SynthesisParameters;
  #busyMs = 0;

  private constructor(
    { manifest, contents }: ModelPackage<MelSynthesizerManifest, FlowMatchingContents>,
    graphs: Graphs,
  ) {
    const { symbols, synthesis, loudness = null, melody = null } = contents;
    this.manifest = manifest;
    this.#graphs = graphs;
    this.#tokenOf = new Map(symbols.symbols.map((symbol, index) => [symbol, index]));
    this.#parameters = {
      solver: synthesis.solver,
      noiseTemperature: synthesis.noise_temperature,
      vocoderReach: synthesis.vocoder_context_frames,
      conditionReach: synthesis.condition_context_frames ?? null,
      silenceBelow: synthesis.silence.mel_mean_below,
      loudness,
      melody,
    };
  }

  static async load(
    model: ModelPackage<MelSynthesizerManifest, FlowMatchingContents>,
    options: GraphOptions,
  ): Promise<FlowMatching> {
    return new FlowMatching(model, {
      encoder: await loadGraph(model, ENCODER, options),
      condition: await loadGraph(model, CONDITION, options),
      step: await loadGraph(model, STEP, options),
      vocoder: await loadGraph(model, VOCODER, options),
    });
  }

  get busyMs(): number {
    return this.#busyMs;
  }

  /**
   * Encodes the text, assigns frames and chunks to it, and prepares the first chunk.
   * @param schedule `nfe + 1` times of solver steps; the package's own by default
   * @param chunkRules the service's by default
   * @throws {ServiceError} `UNKNOWN_VOICE`, `INTERNAL` for a character without a model symbol
   */
  async begin(job: SynthesisJob, schedule?: Float64Array, chunkRules?: ChunkRules): Promise<SolverPiece> {
    const symbols = ["^", ...job.spokenText, "$"];
    const tokens = this.#tokenize(symbols);
    const speaker = this.manifest.voices.find(({ name }) => name === job.voice);
    if (speaker === undefined) throw new ServiceError("UNKNOWN_VOICE", `voice ${job.voice} is not known`);
    const voice = new Tensor("int64", [BigInt(speaker.index)], [1]);
    const encoded = await this.#run("encoder", {
      tokens: new Tensor("int64", tokens, [1, tokens.length]),
      voice,
      log_speed: new Tensor("float32", [Math.log(job.speed)], [1]),
    });
    const logDurations = withBreath(encoded["log_duration"]!.data as Float32Array, symbols, job.breath ?? 1);
    const { frames, frameToToken, position, durations } = alignFrames(logDurations);
    const patches = frames / PATCH_FRAMES;
    const { hopSamples, melBins, sampleRateHz } = this.manifest;
    const condition = new PieceCondition(
      { hidden: encoded["hidden"] as Tensor, voice, frameToToken, position },
      {
        reach: this.#parameters.conditionReach ?? frames,
        patchFrames: PATCH_FRAMES,
        run: (feeds) => this.#run("condition", feeds),
        finish: (part) => this.#scaleMelody(part, speaker, job.melody ?? 1),
      },
    );
    const { f0, voicing } = condition;
    const piece: SolverPiece = {
      job,
      voiceIndex: BigInt(speaker.index),
      frames,
      patches,
      durations,
      condition,
      f0,
      voicing,
      schedule: schedule ?? solverTimes(job.nfe, this.#parameters.solver),
      noise: new GaussianNoise(frames * melBins, job.seed),
      chunks: solverChunks(patches, job.chunking ?? "whole", chunkRules),
      solving: null,
      mel: new Float32Array(0),
      solvedFrames: 0,
      knownFrames: 0,
      trim: null,
      gain: [],
      sources: {
        excitation: new PulseTrain(f0, hopSamples, sampleRateHz),
        noise: new GaussianNoise(frames * hopSamples, job.seed ^ VOCODER_SEED),
      },
    };
    piece.solving = this.#chunkOf(piece, 0);
    piece.solving!.condition = await this.#conditionOf(piece, piece.chunks[0]!);
    return piece;
  }

  /** Runs one Euler step for each piece's chunk, each at its own time, all padded to `patches`. */
  async step(pieces: readonly UnsolvedPiece[], patches: number): Promise<void> {
    const x = PATCH_FRAMES * this.manifest.melBins;
    // Compute conditions late, so that the listener gets the first chunk before the second one's condition is
    // computed.
    for (const piece of pieces)
      piece.solving.condition ??= await this.#conditionOf(piece, piece.chunks[piece.solving.index]!);
    const { x_next } = await this.#run("step", stepFeeds(pieces, patches, x));
    const solved = x_next!.data as Float32Array;
    for (const [row, piece] of pieces.entries()) {
      const chunk = piece.solving;
      chunk.x = solved.subarray(row * patches * x, (row + 1) * patches * x);
      chunk.stepsDone++;
      if (chunk.stepsDone === piece.schedule.length - 1) this.#chunkSolved(piece, chunk);
    }
  }

  isUnsolved(piece: SolverPiece): piece is UnsolvedPiece {
    return piece.solving !== null;
  }

  /** Returns the range of a piece's frames to send, as far as solved. Throws until some speech is solved. */
  trimOf(piece: SolverPiece): PieceTrim {
    if (piece.trim === null)
      throw new ServiceError("INTERNAL", "Cannot trim: no speech of the piece is solved");
    return piece.trim;
  }

  /** Returns the samples at which characters are spoken, see `SynthesizedPiece`. */
  characterBoundsOf(piece: SolverPiece): Int32Array {
    const trim = this.trimOf(piece);
    const stop = this.isUnsolved(piece) ? piece.frames : trim.stop;
    return characterBounds(piece.durations, { ...trim, stop }, this.manifest.hopSamples);
  }

  /** Returns the window that begins at frame `start`, see `vocoderWindow`; null while it is not solved. */
  windowOf({ frames, knownFrames, trim }: SolverPiece, start: number): VocoderWindow | null {
    const reach = this.#parameters.vocoderReach;
    const reached = knownFrames === frames ? frames : knownFrames - reach;
    const stop = Math.min(trim?.stop ?? 0, reached);
    return start < stop ? vocoderWindow({ frames, known: knownFrames, start, stop, reach }) : null;
  }

  /**
   * Runs the vocoder over windows of the same length; applies each piece's gain, and fades at its ends.
   * @returns `[(end - start) * hopSamples]` for each, about -1 to 1
   */
  async vocode(windows: readonly WindowOfPiece[]): Promise<Float32Array[]> {
    const { hopSamples, melBins, sampleRateHz } = this.manifest;
    const frames = windows[0]!.window.contextEnd - windows[0]!.window.contextStart;
    const rows = windows.length;
    const stack = (
      width: number,
      valuesOf: (piece: SolverPiece, end: number) => Float32Array,
      dims = [rows, frames * width],
    ) => {
      const stacked = new Float32Array(rows * frames * width);
      for (const [row, { piece, window }] of windows.entries()) {
        const values = valuesOf(piece, window.contextEnd * width);
        const context = values.subarray(window.contextStart * width, window.contextEnd * width);
        stacked.set(context, row * frames * width);
      }
      return new Tensor("float32", stacked, dims);
    };
    const { pcm } = await this.#run("vocoder", {
      mel: stack(melBins, ({ mel }) => mel, [rows, frames, melBins]),
      f0: stack(1, ({ f0 }) => f0),
      voicing: stack(1, ({ voicing }) => voicing),
      excitation: stack(hopSamples, ({ sources }, end) => sources.excitation.upTo(end)),
      noise: stack(hopSamples, ({ sources }, end) => sources.noise.upTo(end)),
    });
    const samples = pcm!.data as Float32Array;
    return windows.map(({ piece, window }, row) => {
      const from = (row * frames + window.start - window.contextStart) * hopSamples;
      const part = samples.subarray(from, from + (window.end - window.start) * hopSamples);
      const { start, stop } = this.trimOf(piece);
      applyGain(part, window.start, hopSamples, piece.gain);
      fadeEnds(part, {
        offset: (window.start - start) * hopSamples,
        pieceSamples: this.isUnsolved(piece) ? Number.POSITIVE_INFINITY : (stop - start) * hopSamples,
        samples: Math.round(FADE_SECONDS * sampleRateHz),
      });
      return part;
    });
  }

  /** Runs all steps of a piece's next chunk, in a batch of one. */
  async solveChunk(piece: SolverPiece): Promise<void> {
    const index = piece.solving?.index;
    while (this.isUnsolved(piece) && piece.solving.index === index) {
      await this.step([piece], paddedPatches(piece.solving.patches));
    }
  }

  /** Runs steps with one row and with `rows`, so that no request waits while a device compiles. */
  async warmUp(job: SynthesisJob, rows: number, lengths: "every octave" | "the shortest"): Promise<void> {
    for (const count of new Set([1, rows])) {
      const pieces: UnsolvedPiece[] = [];
      while (pieces.length < count) pieces.push((await this.begin(job)) as UnsolvedPiece);
      const shortest = pieces[0]!.solving.patches;
      const all = WARM_UP_PATCHES.filter((patches) => patches >= shortest);
      for (const patches of lengths === "every octave" ? all : all.slice(0, 1))
        await this.step(pieces, patches);
    }
  }

  async release(): Promise<void> {
    for (const graph of Object.values(this.#graphs) as Graph[]) await graph.release();
  }

  #scaleMelody(piece: PitchedCondition, { pitchHz }: ManifestVoice, range: number): void {
    const { melody } = this.#parameters;
    if (range !== 1 && melody !== null && pitchHz !== undefined)
      scaleMelody(piece, { range, centreHz: pitchHz }, melody);
  }

  #chunkOf(piece: SolverPiece, index: number): ChunkInFlight | null {
    const chunk = piece.chunks[index];
    if (chunk === undefined) return null;
    const { contextStart, contextEnd } = chunk;
    const patches = contextEnd - contextStart;
    const width = PATCH_FRAMES * this.manifest.melBins;
    const noise = piece.noise.upTo(contextEnd * width);
    const x = padRows(noise.subarray(contextStart * width), patches, width);
    for (let i = 0; i < x.length; i++) x[i] = x[i]! * this.#parameters.noiseTemperature;
    return { index, patches, condition: null, x, stepsDone: 0 };
  }

  async #conditionOf(
    { condition }: SolverPiece,
    { contextStart, contextEnd }: SolverChunk,
  ): Promise<Float32Array> {
    const values = await condition.of(contextStart, contextEnd);
    return padRows(values, contextEnd - contextStart, condition.width);
  }

  /** Stores a solved chunk with its right context, updates trim and gain, and prepares the next chunk. */
  #chunkSolved(piece: SolverPiece, { index, patches, x }: ChunkInFlight): void {
    const { melBins } = this.manifest;
    const { start, end, contextStart, contextEnd, overlap } = piece.chunks[index]!;
    const width = PATCH_FRAMES * melBins;
    if (patches === piece.patches) piece.mel = x;
    else {
      if (piece.mel.length === 0) piece.mel = new Float32Array(piece.patches * width);
      layOver(piece.mel, x.subarray((start - contextStart) * width, patches * width), {
        frame: start * PATCH_FRAMES,
        overlapFrames: overlap * PATCH_FRAMES,
        melBins,
      });
    }
    piece.solvedFrames = end * PATCH_FRAMES;
    piece.knownFrames = contextEnd * PATCH_FRAMES;
    const sentFrames = piece.trim?.stop;
    const { silenceBelow } = this.#parameters;
    const solved = piece.mel.subarray(0, piece.solvedFrames * melBins);
    piece.trim = trimSoFar(solved, { melBins, silenceBelow, frames: piece.frames });
    piece.solving = this.#chunkOf(piece, index + 1);
    if (piece.trim === null) return;
    piece.gain = withGain(piece.gain, sentFrames ?? piece.trim.start, this.#gainOf(piece, piece.trim));
  }

  #gainOf(piece: SolverPiece, trim: PieceTrim): number {
    const { loudness } = this.#parameters;
    if (loudness === null) return 1;
    const { hopSamples, sampleRateHz } = this.manifest;
    const { knownFrames, mel, job, solving } = piece;
    const known = solving === null ? trim : { ...trim, stop: knownFrames };
    const gain = pieceGain(melLevelDb(mel, known, loudness, hopSamples / sampleRateHz), job.voice, loudness);
    return solving === null ? gain : gainSoFar(gain, knownFrames);
  }

  async #run(graph: keyof Graphs, feeds: InferenceSession.FeedsType): Promise<InferenceSession.ReturnType> {
    const startedAtMs = performance.now();
    const results = await this.#graphs[graph].run(feeds);
    this.#busyMs += performance.now() - startedAtMs;
    return results;
  }

  #tokenize(symbols: readonly string[]): BigInt64Array {
    return BigInt64Array.from(symbols, (symbol) => {
      const token = this.#tokenOf.get(symbol);
      if (token === undefined)
        throw new ServiceError("INTERNAL", `Cannot speak: "${symbol}" is not a model symbol`);
      return BigInt(token);
    });
  }
}
