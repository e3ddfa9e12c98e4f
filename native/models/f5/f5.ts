import { Tensor } from "onnxruntime-node";
import { toInt16 } from "../../../core/domain/audio/pcm.js";
import { resample } from "../../../core/domain/audio/resample.js";
import { WavSampleReader } from "../../../core/domain/audio/wav-samples.js";
import { ServiceError } from "../../../core/domain/errors.js";
import { KAZAKH_LETTERS } from "../../../core/domain/text/kazakh/letters.js";
import type { SynthesisJob } from "../../../core/ports/synthesizer.js";
import { type GraphOptions, loadGraph } from "../graph.js";
import type { Graph, GraphContract } from "../graph-interface.js";
import { brokenModel, fileNameOf, type ModelPackage, readPackageFile } from "../package.js";
import type { PieceModel, PieceTurn } from "../synthesizer.js";
import type { F5Manifest, F5Voice } from "./manifest.js";

const PREPROCESS = {
  file: "preprocess",
  inputs: ["audio", "text_ids", "max_duration"],
  outputs: ["noise", "rope_cos", "rope_sin", "cat_mel_text", "cat_mel_text_drop", "ref_signal_len"],
} as const satisfies GraphContract;
/** Its outputs, the next x and time step, are read by position, because the second has an input's name. */
const TRANSFORMER = {
  file: "transformer",
  inputs: ["noise", "rope_cos", "rope_sin", "cat_mel_text", "cat_mel_text_drop", "time_step"],
  outputs: [],
} as const satisfies GraphContract;
const DECODE = {
  file: "decode",
  inputs: ["denoised", "ref_signal_len"],
  outputs: ["output_audio"],
} as const satisfies GraphContract;

const FULL_SCALE = 32_768;

interface Reference {
  readonly audio: Int16Array;
  readonly text: string;
}

interface Graphs {
  readonly preprocess: Graph;
  readonly transformer: Graph;
  readonly decode: Graph;
}

/**
 * F5-TTS in three graphs. Preprocessing: audio int16 [1, 1, L], text_ids int32 [1, N], max_duration int64 to
 * noise f32 [1, T, bins] and the transformer's condition. The transformer, run repeatedly: noise and
 * time_step int32 [1] to the next of both. Decoding: denoised, ref_signal_len to output_audio [1, 1, samples]
 * without the reference, int16 or f32.
 *
 * Text is characters, reference first; the duration is the reference's, scaled by the bytes of both texts.
 * Steps, guidance, sway and noise are part of the graphs: `nfe` and `seed` of a request have no effect.
 *
 * @see DakeQQ/F5-TTS-ONNX at 0ab2c16, `Export_ONNX/F5_TTS/Export_F5.py`. Earlier exports, with four tensors
 *   for the rotary embedding, are rejected.
 */
export class F5 implements PieceModel {
  readonly manifest: F5Manifest;
  readonly #graphs: Graphs;
  readonly #tokenOf: ReadonlyMap<string, number>;
  readonly #references: ReadonlyMap<string, Reference>;

  private constructor(
    manifest: F5Manifest,
    graphs: Graphs,
    tokenOf: ReadonlyMap<string, number>,
    references: ReadonlyMap<string, Reference>,
  ) {
    this.manifest = manifest;
    this.#graphs = graphs;
    this.#tokenOf = tokenOf;
    this.#references = references;
  }

  static async load(model: ModelPackage<F5Manifest>, options: GraphOptions): Promise<F5> {
    const tokenOf = await readVocabularyLines(model);
    const references = new Map<string, Reference>();
    for (const voice of model.manifest.voices) references.set(voice.name, await readReference(model, voice));
    const graphs = {
      preprocess: await loadGraph(model, PREPROCESS, options),
      transformer: await loadGraph(model, TRANSFORMER, options),
      decode: await loadGraph(model, DECODE, options),
    };
    return new F5(model.manifest, graphs, tokenOf, references);
  }

  async speak(job: SynthesisJob, turn: PieceTurn): Promise<null> {
    const reference = this.#references.get(job.voice);
    if (reference === undefined) throw new ServiceError("UNKNOWN_VOICE", `voice ${job.voice} is not known`);
    const tokens = Int32Array.from(
      reference.text + job.spokenText,
      (symbol) => this.#tokenOf.get(symbol) ?? 0,
    );
    const prepared = await this.#graphs.preprocess.run({
      audio: new Tensor("int16", reference.audio, [1, 1, reference.audio.length]),
      text_ids: new Tensor("int32", tokens, [1, tokens.length]),
      max_duration: new Tensor("int64", BigInt64Array.of(BigInt(this.#frames(reference, job))), []),
    });
    const { noise, ref_signal_len, ...condition } = prepared;
    const denoised = await this.#solve(noise!, condition, turn);
    const { output_audio } = await this.#graphs.decode.run({ denoised, ref_signal_len: ref_signal_len! });
    const { data } = output_audio!;
    await turn.give(
      data instanceof Float32Array ? data : Float32Array.from(data as Int16Array, (n) => n / FULL_SCALE),
    );
    return null;
  }

  async release(): Promise<void> {
    for (const graph of Object.values(this.#graphs) as Graph[]) await graph.release();
  }

  async #solve(noise: Tensor, condition: Record<string, Tensor>, turn: PieceTurn): Promise<Tensor> {
    const { transformer } = this.#graphs;
    const [xName, timeName] = transformer.outputNames as [string, string];
    let x = noise;
    let time: Tensor = new Tensor("int32", Int32Array.of(0), [1]);
    for (let run = 0; run < this.manifest.transformerRuns; run++) {
      await turn.checkpoint();
      const answer = await transformer.run({ ...condition, noise: x, time_step: time });
      x = answer[xName]!;
      time = answer[timeName]!;
    }
    return x;
  }

  #frames({ audio, text }: Reference, { spokenText, speed }: SynthesisJob): number {
    const frames = Math.floor(audio.length / this.manifest.hopSamples) + 1;
    const ratio = Buffer.byteLength(spokenText) / Buffer.byteLength(text);
    return frames + Math.floor((frames * ratio) / speed);
  }
}

/** Reads `vocab.txt`: the symbol on each line has the line's number, from 0. */
async function readVocabularyLines(model: ModelPackage<F5Manifest>): Promise<ReadonlyMap<string, number>> {
  const lines = new TextDecoder().decode(await readPackageFile(model, "vocabulary")).split("\n");
  const tokenOf = new Map(lines.map((symbol, index) => [symbol.replace("\r", ""), index]));
  const missing = [...KAZAKH_LETTERS, " "].filter((character) => !tokenOf.has(character));
  if (missing.length === 0) return tokenOf;
  const rule = `lines must contain ${missing.map((c) => `"${c}"`).join(", ")}`;
  throw brokenModel(`Cannot load ${fileNameOf(model, "vocabulary")}: ${rule}`);
}

async function readReference(model: ModelPackage<F5Manifest>, voice: F5Voice): Promise<Reference> {
  const bytes = await readPackageFile(model, voice.reference);
  try {
    const reader = new WavSampleReader(bytes.length);
    const samples = reader.push(bytes);
    if (reader.header === null || samples.length === 0) throw new RangeError("it has no samples");
    const { sampleRateHz } = model.manifest;
    const audio = toInt16(resample(samples, { fromHz: reader.header.sampleRateHz, toHz: sampleRateHz }));
    return { audio, text: voice.referenceText };
  } catch (error) {
    const name = fileNameOf(model, voice.reference);
    throw brokenModel(`Cannot load ${name}: ${(error as Error).message}`, error);
  }
}
