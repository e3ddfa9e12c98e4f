import { type InferenceSession, Tensor } from "onnxruntime-node";
import { ServiceError } from "../../../core/domain/errors.js";
import type { SynthesisJob } from "../../../core/ports/synthesizer.js";
import { type GraphOptions, loadGraph, requireDimension } from "../graph.js";
import type { Graph, GraphContract } from "../graph-interface.js";
import { brokenModel, fileNameOf, type ModelPackage } from "../package.js";
import type { PieceModel, PieceTurn } from "../synthesizer.js";
import type { MatchaContents, MatchaManifest } from "./manifest.js";

const ACOUSTIC = {
  file: "acoustic",
  inputs: ["x", "x_lengths", "scales"],
  outputs: ["mel", "mel_lengths"],
} as const satisfies GraphContract;
/** The same graph with a vocoder embedded. */
const WHOLE = {
  file: "acoustic",
  inputs: ["x", "x_lengths", "scales"],
  outputs: ["wav", "wav_lengths"],
} as const satisfies GraphContract;
/** The vocoder's input and first output are selected by position. */
const VOCODER = { file: "vocoder", inputs: [], outputs: [] } as const satisfies GraphContract;

/** Token before, between and after symbols. */
const BLANK = 0n;
/** Longest fade at either end: 5 ms at 22,050 Hz. */
const FADE_SAMPLES = 110;

/**
 * Matcha-TTS as exported by its own code, with a separate or embedded vocoder: x int64 [B, N], x_lengths
 * int64 [B], scales f32 [2] of temperature and length, spks int64 [B] if there are voices; mel f32 [B, bins,
 * T] and mel_lengths, or wav f32 [B, samples] and wav_lengths. The vocoder maps mel to f32 [B, 1, samples] or
 * [B, samples]. The number of solver steps is part of the graph: `nfe` of a request has no effect.
 *
 * Symbols are characters of the spoken text, since there is no phonemizer: weights trained on phonemes are
 * not supported.
 *
 * @see shivammehta25/Matcha-TTS at 0a46247, `matcha/onnx/export.py`, and at 1b204ed, `matcha/onnx/infer.py`;
 *   blanks between symbols from `process_text` in `matcha/cli.py` at 14d903f
 */
export class Matcha implements PieceModel {
  readonly manifest: MatchaManifest;
  readonly #acoustic: Graph;
  readonly #vocoder: Graph | null;
  readonly #tokenOf: ReadonlyMap<string, bigint>;

  private constructor(
    { manifest, contents }: ModelPackage<MatchaManifest, MatchaContents>,
    { acoustic, vocoder }: { readonly acoustic: Graph; readonly vocoder: Graph | null },
  ) {
    this.manifest = manifest;
    this.#acoustic = acoustic;
    this.#vocoder = vocoder;
    this.#tokenOf = new Map(contents.symbols.symbols.map((symbol, index) => [symbol, BigInt(index)]));
  }

  static async load(
    model: ModelPackage<MatchaManifest, MatchaContents>,
    options: GraphOptions,
  ): Promise<Matcha> {
    const { manifest } = model;
    const hasVocoder = "vocoder" in manifest.files;
    const acoustic = await loadGraph(model, hasVocoder ? ACOUSTIC : WHOLE, options);
    const name = fileNameOf(model, "acoustic");
    if (hasVocoder) requireDimension(acoustic, name, "mel", { axis: 1, expected: manifest.melBins });
    if (manifest.voices.length > 1 && !acoustic.inputNames.includes("spks")) {
      throw brokenModel(`Cannot load ${name}: inputs must contain spks for ${manifest.voices.length} voices`);
    }
    const vocoder = hasVocoder ? await loadGraph(model, VOCODER, options) : null;
    return new Matcha(model, { acoustic, vocoder });
  }

  async speak(job: SynthesisJob, turn: PieceTurn): Promise<null> {
    const tokens = this.#tokenize(job.spokenText);
    const { temperature, lengthScale } = this.manifest;
    const answer = await this.#acoustic.run({
      x: new Tensor("int64", tokens, [1, tokens.length]),
      x_lengths: new Tensor("int64", BigInt64Array.of(BigInt(tokens.length)), [1]),
      scales: new Tensor("float32", Float32Array.of(temperature, lengthScale / job.speed), [2]),
      ...this.#voiceFeeds(job.voice),
    });
    await turn.give(faded(await this.#wavesOf(answer, turn)));
    return null;
  }

  async release(): Promise<void> {
    await this.#acoustic.release();
    await this.#vocoder?.release();
  }

  async #wavesOf(answer: InferenceSession.ReturnType, turn: PieceTurn): Promise<Float32Array> {
    const vocoder = this.#vocoder;
    if (vocoder === null) return cut(answer["wav"]!, answer["wav_lengths"]!, 1);
    await turn.checkpoint();
    const waves = await vocoder.run({ [vocoder.inputNames[0]!]: answer["mel"]! });
    const { hopSamples } = this.manifest;
    return cut(waves[vocoder.outputNames[0]!]!, answer["mel_lengths"]!, hopSamples);
  }

  #voiceFeeds(voice: string): Record<string, Tensor> {
    const index = this.manifest.voices.find(({ name }) => name === voice)?.index;
    if (index === undefined) throw new ServiceError("UNKNOWN_VOICE", `voice ${voice} is not known`);
    if (!this.#acoustic.inputNames.includes("spks")) return {};
    return { spks: new Tensor("int64", BigInt64Array.of(BigInt(index)), [1]) };
  }

  /** Drops signs without a symbol; the package's schema requires all letters. */
  #tokenize(spokenText: string): BigInt64Array {
    const symbols: bigint[] = [];
    for (const character of spokenText) {
      const token = this.#tokenOf.get(character);
      if (token !== undefined) symbols.push(token);
    }
    if (!this.manifest.addsBlanks) return BigInt64Array.from(symbols);
    return BigInt64Array.from([BLANK, ...symbols.flatMap((symbol) => [symbol, BLANK])]);
  }
}

/** Removes the padding that exports add. */
function cut(waves: Tensor, lengths: Tensor, samplesPerUnit: number): Float32Array {
  const length = Number((lengths.data as BigInt64Array)[0]) * samplesPerUnit;
  return (waves.data as Float32Array).slice(0, length);
}

/** Fades both ends: a vocoder's output may not start and end at zero, which would be audible as a click. */
function faded(samples: Float32Array): Float32Array {
  const length = Math.min(FADE_SAMPLES, samples.length >> 1);
  for (let i = 0; i < length; i++) {
    const gain = i / length;
    samples[i] = samples[i]! * gain;
    samples[samples.length - 1 - i] = samples[samples.length - 1 - i]! * gain;
  }
  return samples;
}
