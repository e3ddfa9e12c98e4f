import { type InferenceSession, Tensor } from "onnxruntime-node";
import { fadeEnds } from "../../../src/domain/audio/fade.js";
import { ServiceError } from "../../../src/domain/errors.js";
import { alignFrames } from "../../../src/domain/synthesis/alignment.js";
import { withBreath } from "../../../src/domain/synthesis/breath.js";
import { characterBounds } from "../../../src/domain/synthesis/character-bounds.js";
import { pulseTrain } from "../../../src/domain/synthesis/excitation.js";
import { type LoudnessModel, melLevelDb, pieceGain } from "../../../src/domain/synthesis/loudness.js";
import {
  type PitchColumns,
  type PitchedCondition,
  scaleMelody,
} from "../../../src/domain/synthesis/melody.js";
import { gaussianNoise } from "../../../src/domain/synthesis/noise.js";
import { swaySchedule } from "../../../src/domain/synthesis/schedule.js";
import { type PieceTrim, trimSilence } from "../../../src/domain/synthesis/silence.js";
import { paddedPatches } from "../../../src/domain/synthesis/solver-schedule.js";
import { type VocoderWindow, vocoderWindow } from "../../../src/domain/synthesis/vocoder-windows.js";
import type { SynthesisJob } from "../../../src/ports/synthesizer.js";
import { type GraphContract, type GraphOptions, loadGraph } from "../graph.js";
import type { ManifestVoice, MelSynthesizerManifest } from "../manifest.js";
import type { ModelPackage } from "../package.js";
import type { FlowMatchingContents } from "./manifest.js";
import { PATCH_FRAMES, padRows, type SolverPiece, stepFeeds } from "./solver-piece.js";

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
} as const satisfies GraphContract;
const VOCODER = {
  file: "vocoder",
  inputs: ["mel", "f0", "voicing", "excitation", "noise"],
  outputs: ["pcm"],
} as const satisfies GraphContract;

/** Tells the noise of the vocoder from the noise the flow starts with. */
const VOCODER_SEED = 0x5bd1e995;
const FADE_SECONDS = 0.005;

interface Graphs {
  readonly encoder: InferenceSession;
  readonly condition: InferenceSession;
  readonly step: InferenceSession;
  readonly vocoder: InferenceSession;
}

interface SynthesisParameters {
  readonly sway: number;
  readonly noiseTemperature: number;
  /** Frames on each side that the vocoder's samples depend on. */
  readonly vocoderReach: number;
  /** A frame whose normalised log-mel has a lower mean is silent. */
  readonly silenceBelow: number;
  /** Null in a package that says nothing about it: its pieces stay as loud as the model makes them. */
  readonly loudness: LoudnessModel | null;
  /** Null in a package without a voice whose melody is changed. */
  readonly melody: PitchColumns | null;
}

/** One window of a piece that is solved. */
export interface WindowOfPiece {
  readonly piece: SolverPiece;
  readonly window: VocoderWindow;
}

/**
 * The synthesizer's graphs: text encoder with durations, frame condition with pitch, one solver step with a timestep
 * of its own per row, and the vocoder. Runs are synchronous inside onnxruntime: worker threads only. Rows of a batch do
 * not see each other, so a piece sounds the same alone and in any company.
 *
 * @see Lipman et al., "Flow Matching for Generative Modeling", 2023
 */
export class FlowMatching {
  readonly manifest: MelSynthesizerManifest;
  readonly #graphs: Graphs;
  readonly #tokenOf: ReadonlyMap<string, number>;
  readonly #parameters: SynthesisParameters;
  #busyMs = 0;

  private constructor(parts: {
    manifest: MelSynthesizerManifest;
    graphs: Graphs;
    symbols: readonly string[];
    parameters: SynthesisParameters;
  }) {
    this.manifest = parts.manifest;
    this.#graphs = parts.graphs;
    this.#tokenOf = new Map(parts.symbols.map((symbol, index) => [symbol, index]));
    this.#parameters = parts.parameters;
  }

  /** @throws {ServiceError} `MODEL_BROKEN` naming the file that is missing, damaged or of another interface */
  static async load(
    model: ModelPackage<MelSynthesizerManifest, FlowMatchingContents>,
    options: GraphOptions,
  ): Promise<FlowMatching> {
    const { symbols, synthesis, loudness = null, melody = null } = model.contents;
    const graphs = {
      encoder: await loadGraph(model, ENCODER, options),
      condition: await loadGraph(model, CONDITION, options),
      step: await loadGraph(model, STEP, options),
      vocoder: await loadGraph(model, VOCODER, options),
    };
    const parameters = {
      sway: synthesis.solver.sway,
      noiseTemperature: synthesis.noise_temperature,
      vocoderReach: synthesis.vocoder_context_frames,
      silenceBelow: synthesis.silence.mel_mean_below,
      loudness,
      melody,
    };
    return new FlowMatching({ manifest: model.manifest, graphs, symbols: symbols.symbols, parameters });
  }

  /** Milliseconds spent inside the runtime so far. */
  get busyMs(): number {
    return this.#busyMs;
  }

  /**
   * Encodes the text, lays it out in time and draws the noise that the solver starts from.
   * @param schedule times of the solver's steps, `nfe + 1` of them; the package's own when absent
   * @throws {ServiceError} `UNKNOWN_VOICE`, `INTERNAL` for a text that holds no model symbols alone
   */
  async begin(job: SynthesisJob, schedule?: Float64Array): Promise<SolverPiece> {
    const symbols = ["^", ...job.spokenText, "$"];
    const tokens = this.#tokenize(symbols);
    const speaker = this.manifest.voices.find((voice) => voice.name === job.voice);
    if (speaker === undefined) throw new ServiceError("UNKNOWN_VOICE", `voice ${job.voice} is not known`);
    const voice = new Tensor("int64", [BigInt(speaker.index)], [1]);
    const encoded = await this.#run("encoder", {
      tokens: new Tensor("int64", tokens, [1, tokens.length]),
      voice,
      log_speed: new Tensor("float32", [Math.log(job.speed)], [1]),
    });
    const logDurations = withBreath(encoded["log_duration"]!.data as Float32Array, symbols, job.breath ?? 1);
    const { frames, frameToToken, position, durations } = alignFrames(logDurations);
    const conditioned = await this.#run("condition", {
      hidden: encoded["hidden"]!,
      frame_to_token: new Tensor("int64", frameToToken, [1, frames]),
      position: new Tensor("float32", position, [1, frames, 3]),
      voice,
      mask: new Tensor("float32", new Float32Array(frames).fill(1), [1, frames]),
    });
    const patches = frames / PATCH_FRAMES;
    const noise = gaussianNoise(frames * this.manifest.melBins, job.seed);
    for (let i = 0; i < noise.length; i++) noise[i] = noise[i]! * this.#parameters.noiseTemperature;
    const made = conditioned["condition"] as Tensor;
    const condition = padRows(made.data as Float32Array, patches, made.dims[2]!);
    const f0 = conditioned["f0"]!.data as Float32Array;
    this.#scaleMelody({ f0, condition }, speaker, job.melody ?? 1);
    return {
      job,
      voiceIndex: BigInt(speaker.index),
      frames,
      patches,
      durations,
      condition,
      f0,
      voicing: conditioned["voicing"]!.data as Float32Array,
      schedule: schedule ?? swaySchedule(job.nfe, this.#parameters.sway),
      x: padRows(noise, patches, PATCH_FRAMES * this.manifest.melBins),
      stepsDone: 0,
      trim: null,
      gain: null,
      sources: null,
    };
  }

  /** One Euler step of each piece, each at a time of its own, all padded to `patches`. */
  async step(pieces: readonly SolverPiece[], patches: number): Promise<void> {
    const x = PATCH_FRAMES * this.manifest.melBins;
    const condition = pieces[0]!.condition.length / paddedPatches(pieces[0]!.patches);
    const { x_next } = await this.#run("step", stepFeeds(pieces, patches, { x, condition }));
    const solved = x_next!.data as Float32Array;
    for (const [row, piece] of pieces.entries()) {
      piece.x = solved.subarray(row * patches * x, (row + 1) * patches * x);
      piece.stepsDone++;
    }
  }

  /** Whether nothing is left for the solver. */
  isSolved(piece: SolverPiece): boolean {
    return piece.stepsDone === piece.schedule.length - 1;
  }

  /** Which frames of a solved piece are sent. */
  trimOf(piece: SolverPiece): PieceTrim {
    const { melBins } = this.manifest;
    const mel = piece.x.subarray(0, piece.frames * melBins);
    piece.trim ??= trimSilence(mel, melBins, this.#parameters.silenceBelow);
    return piece.trim;
  }

  /** Where in the samples of a solved piece its characters are said; see `SynthesizedPiece`. */
  characterBoundsOf(piece: SolverPiece): Int32Array {
    return characterBounds(piece.durations, this.trimOf(piece), this.manifest.hopSamples);
  }

  /** What the samples of a solved piece are multiplied with, so that all pieces are equally loud. */
  gainOf(piece: SolverPiece): number {
    piece.gain ??= this.#gainOf(piece);
    return piece.gain;
  }

  /** The window of a solved piece that begins at frame `start`; see `vocoderWindow`. */
  windowOf(piece: SolverPiece, start: number, isAwaited: boolean): VocoderWindow {
    const { stop } = this.trimOf(piece);
    const { frames } = piece;
    return vocoderWindow({ frames, start, stop, reach: this.#parameters.vocoderReach, isAwaited });
  }

  /**
   * Samples of windows that are all given the same number of frames, at their piece's level, faded where they are an end of it.
   * @returns `[(end - start) * hopSamples]` for each, about -1 to 1
   */
  async vocode(windows: readonly WindowOfPiece[]): Promise<Float32Array[]> {
    const { hopSamples, melBins, sampleRateHz } = this.manifest;
    const frames = windows[0]!.window.contextEnd - windows[0]!.window.contextStart;
    const rows = windows.length;
    const stack = (width: number, valuesOf: (piece: SolverPiece) => Float32Array) => {
      const stacked = new Float32Array(rows * frames * width);
      for (const [row, { piece, window }] of windows.entries()) {
        const context = valuesOf(piece).subarray(window.contextStart * width, window.contextEnd * width);
        stacked.set(context, row * frames * width);
      }
      return stacked;
    };
    const { pcm } = await this.#run("vocoder", {
      mel: new Tensor(
        "float32",
        stack(melBins, (piece) => piece.x),
        [rows, frames, melBins],
      ),
      f0: new Tensor(
        "float32",
        stack(1, (piece) => piece.f0),
        [rows, frames],
      ),
      voicing: new Tensor(
        "float32",
        stack(1, (piece) => piece.voicing),
        [rows, frames],
      ),
      excitation: new Tensor(
        "float32",
        stack(hopSamples, (piece) => this.#sourcesOf(piece).excitation),
        [rows, frames * hopSamples],
      ),
      noise: new Tensor(
        "float32",
        stack(hopSamples, (piece) => this.#sourcesOf(piece).noise),
        [rows, frames * hopSamples],
      ),
    });
    const samples = pcm!.data as Float32Array;
    return windows.map(({ piece, window }, row) => {
      const from = (row * frames + window.start - window.contextStart) * hopSamples;
      const part = samples.subarray(from, from + (window.end - window.start) * hopSamples);
      const { start, stop } = this.trimOf(piece);
      const gain = this.gainOf(piece);
      for (let i = 0; i < part.length; i++) part[i] = part[i]! * gain;
      fadeEnds(part, {
        offset: (window.start - start) * hopSamples,
        pieceSamples: (stop - start) * hopSamples,
        samples: Math.round(FADE_SECONDS * sampleRateHz),
      });
      return part;
    });
  }

  /** Speaks a piece from begin to end with nothing beside it: the bare model. */
  async speakAlone(job: SynthesisJob, schedule?: Float64Array): Promise<Float32Array> {
    const piece = await this.begin(job, schedule);
    while (!this.isSolved(piece)) await this.step([piece], paddedPatches(piece.patches));
    const { hopSamples } = this.manifest;
    const trim = this.trimOf(piece);
    const frames = trim.silentFramesBefore + trim.stop - trim.start + trim.silentFramesAfter;
    const samples = new Float32Array(frames * hopSamples);
    for (let start = trim.start; start < trim.stop; ) {
      const window = this.windowOf(piece, start, false);
      const [part] = await this.vocode([{ piece, window }]);
      samples.set(part!, (trim.silentFramesBefore + start - trim.start) * hopSamples);
      start = window.end;
    }
    return samples;
  }

  /** Frees the graphs' memory; nothing may be run afterwards. */
  async release(): Promise<void> {
    for (const graph of Object.values(this.#graphs) as InferenceSession[]) await graph.release();
  }

  #scaleMelody(piece: PitchedCondition, { pitchHz }: ManifestVoice, range: number): void {
    const { melody } = this.#parameters;
    if (range !== 1 && melody !== null && pitchHz !== undefined)
      scaleMelody(piece, { range, centreHz: pitchHz }, melody);
  }

  #gainOf(piece: SolverPiece): number {
    const { loudness } = this.#parameters;
    if (loudness === null) return 1;
    const { hopSamples, sampleRateHz } = this.manifest;
    const levelDb = melLevelDb(piece.x, this.trimOf(piece), loudness, hopSamples / sampleRateHz);
    return pieceGain(levelDb, piece.job.voice, loudness);
  }

  async #run(graph: keyof Graphs, feeds: InferenceSession.FeedsType): Promise<InferenceSession.ReturnType> {
    const startedAtMs = performance.now();
    const results = await this.#graphs[graph].run(feeds);
    this.#busyMs += performance.now() - startedAtMs;
    return results;
  }

  /** The pulse train is summed from the piece's first sample, so all of it is drawn at once. */
  #sourcesOf(piece: SolverPiece): NonNullable<SolverPiece["sources"]> {
    const { hopSamples, sampleRateHz } = this.manifest;
    piece.sources ??= {
      excitation: pulseTrain(piece.f0, hopSamples, sampleRateHz),
      noise: gaussianNoise(piece.frames * hopSamples, piece.job.seed ^ VOCODER_SEED),
    };
    return piece.sources;
  }

  #tokenize(symbols: readonly string[]): BigInt64Array {
    return BigInt64Array.from(symbols, (symbol) => {
      const token = this.#tokenOf.get(symbol);
      if (token === undefined)
        throw new ServiceError("INTERNAL", `Cannot speak: "${symbol}" is no model symbol`);
      return BigInt(token);
    });
  }
}
