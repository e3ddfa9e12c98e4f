import { type InferenceSession, Tensor } from "onnxruntime-node";
import { toInt16 } from "../../src/domain/audio/pcm.js";
import { SpeechError } from "../../src/domain/errors.js";
import { alignFrames } from "../../src/domain/synthesis/alignment.js";
import { pulseTrain } from "../../src/domain/synthesis/excitation.js";
import { gaussianNoise } from "../../src/domain/synthesis/noise.js";
import { swaySchedule } from "../../src/domain/synthesis/schedule.js";
import type { SynthesisJob } from "../../src/ports/synthesizer.js";
import { type GraphContract, type GraphOptions, loadGraph } from "./graph.js";
import { type ModelPackage, readPackageFile, type SynthesizerManifest } from "./model-package.js";

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

/** Frames that one row of the decoder holds. */
const PATCH_FRAMES = 2;
/** Tells the noise of the vocoder from the noise the flow starts with. */
const VOCODER_SEED = 0x5bd1e995;

interface Graphs {
  readonly encoder: InferenceSession;
  readonly condition: InferenceSession;
  readonly step: InferenceSession;
  readonly vocoder: InferenceSession;
}

interface SynthesisParameters {
  readonly sway: number;
  readonly noiseTemperature: number;
}

/** A piece between two solver steps. */
export interface SolverPiece {
  readonly job: SynthesisJob;
  readonly frames: number;
  readonly voice: Tensor;
  readonly condition: Tensor;
  readonly mask: Tensor;
  readonly f0: Float32Array;
  readonly voicing: Float32Array;
  /** `nfe + 1` times from 0 to 1. */
  readonly schedule: Float64Array;
  /** `[frames / 2, 2 * melBins]`, noise at first, log-mel when all steps are done. */
  x: Float32Array;
  stepsDone: number;
}

/**
 * The synthesizer's graphs: text encoder with durations, frame condition with pitch, one solver step with a timestep
 * of its own per row, and the vocoder. Runs are synchronous inside onnxruntime: worker threads only.
 *
 * @see Lipman et al., "Flow Matching for Generative Modeling", 2023
 */
export class FlowMatching {
  readonly manifest: SynthesizerManifest;
  readonly #graphs: Graphs;
  readonly #tokenOf: ReadonlyMap<string, number>;
  readonly #parameters: SynthesisParameters;

  private constructor(parts: {
    manifest: SynthesizerManifest;
    graphs: Graphs;
    symbols: readonly string[];
    parameters: SynthesisParameters;
  }) {
    this.manifest = parts.manifest;
    this.#graphs = parts.graphs;
    this.#tokenOf = new Map(parts.symbols.map((symbol, index) => [symbol, index]));
    this.#parameters = parts.parameters;
  }

  /** @throws {SpeechError} `MODEL_BROKEN` naming the file that is missing, damaged or of another interface */
  static async load(model: ModelPackage<SynthesizerManifest>, options: GraphOptions): Promise<FlowMatching> {
    const { symbols } = (await readJson(model, "symbols")) as { symbols: string[] };
    const settings = (await readJson(model, "synthesis")) as {
      solver: { sway: number };
      noise_temperature: number;
    };
    const graphs = {
      encoder: await loadGraph(model, ENCODER, options),
      condition: await loadGraph(model, CONDITION, options),
      step: await loadGraph(model, STEP, options),
      vocoder: await loadGraph(model, VOCODER, options),
    };
    const parameters = { sway: settings.solver.sway, noiseTemperature: settings.noise_temperature };
    return new FlowMatching({ manifest: model.manifest, graphs, symbols, parameters });
  }

  /** Encodes the text, lays it out in time and draws the noise that the solver starts from. */
  async begin(job: SynthesisJob): Promise<SolverPiece> {
    const tokens = this.#tokenize(job.spokenText);
    const voiceIndex = this.manifest.voices.find((voice) => voice.name === job.voice)?.index;
    if (voiceIndex === undefined) throw new SpeechError("UNKNOWN_VOICE", `voice ${job.voice} is not known`);
    const voice = new Tensor("int64", [BigInt(voiceIndex)], [1]);
    const encoded = await this.#graphs.encoder.run({
      tokens: new Tensor("int64", tokens, [1, tokens.length]),
      voice,
      log_speed: new Tensor("float32", [Math.log(job.speed)], [1]),
    });
    const { frames, frameToToken, position } = alignFrames(encoded["log_duration"]!.data as Float32Array);
    const conditioned = await this.#graphs.condition.run({
      hidden: encoded["hidden"]!,
      frame_to_token: new Tensor("int64", frameToToken, [1, frames]),
      position: new Tensor("float32", position, [1, frames, 3]),
      voice,
      mask: new Tensor("float32", new Float32Array(frames).fill(1), [1, frames]),
    });
    const patches = frames / PATCH_FRAMES;
    const x = gaussianNoise(frames * this.manifest.melBins, job.seed);
    for (let i = 0; i < x.length; i++) x[i] = x[i]! * this.#parameters.noiseTemperature;
    return {
      job,
      frames,
      voice,
      condition: conditioned["condition"]! as Tensor,
      mask: new Tensor("float32", new Float32Array(patches).fill(1), [1, patches, 1]),
      f0: conditioned["f0"]!.data as Float32Array,
      voicing: conditioned["voicing"]!.data as Float32Array,
      schedule: swaySchedule(job.nfe, this.#parameters.sway),
      x,
      stepsDone: 0,
    };
  }

  /** One Euler step of the flow; true when it was the last. */
  async step(piece: SolverPiece): Promise<boolean> {
    const patches = piece.frames / PATCH_FRAMES;
    const t = piece.schedule[piece.stepsDone]!;
    const { x_next } = await this.#graphs.step.run({
      x: new Tensor("float32", piece.x, [1, patches, PATCH_FRAMES * this.manifest.melBins]),
      condition: piece.condition,
      t: new Tensor("float32", [t], [1]),
      dt: new Tensor("float32", [piece.schedule[piece.stepsDone + 1]! - t], [1]),
      voice: piece.voice,
      mask: piece.mask,
    });
    piece.x = x_next!.data as Float32Array;
    piece.stepsDone++;
    return piece.stepsDone === piece.job.nfe;
  }

  /** Samples of a solved piece, 16-bit. */
  async vocode(piece: SolverPiece): Promise<Int16Array> {
    const { hopSamples, melBins, sampleRateHz } = this.manifest;
    const { frames } = piece;
    const samples = frames * hopSamples;
    const { pcm } = await this.#graphs.vocoder.run({
      mel: new Tensor("float32", piece.x, [1, frames, melBins]),
      f0: new Tensor("float32", piece.f0, [1, frames]),
      voicing: new Tensor("float32", piece.voicing, [1, frames]),
      excitation: new Tensor("float32", pulseTrain(piece.f0, hopSamples, sampleRateHz), [1, samples]),
      noise: new Tensor("float32", gaussianNoise(samples, piece.job.seed ^ VOCODER_SEED), [1, samples]),
    });
    return toInt16(pcm!.data as Float32Array);
  }

  /** Frees the graphs' memory; nothing may be run afterwards. */
  async release(): Promise<void> {
    for (const graph of Object.values(this.#graphs) as InferenceSession[]) await graph.release();
  }

  #tokenize(spokenText: string): BigInt64Array {
    const symbols = ["^", ...spokenText, "$"];
    return BigInt64Array.from(symbols, (symbol) => {
      const token = this.#tokenOf.get(symbol);
      if (token === undefined)
        throw new SpeechError("INTERNAL", `Cannot speak: "${symbol}" is no model symbol`);
      return BigInt(token);
    });
  }
}

async function readJson(model: ModelPackage, file: string): Promise<unknown> {
  return JSON.parse(new TextDecoder().decode(await readPackageFile(model, file)));
}
