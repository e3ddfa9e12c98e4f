import { Tensor } from "onnxruntime-node";
import { FRONT_ENDS } from "../../../core/domain/audio/front-ends.js";
import { LogMel } from "../../../core/domain/audio/log-mel.js";
import { powersetOf, speakersPerFrame } from "../../../core/domain/diarization/powerset.js";
import { joinedSpans, soloSpans } from "../../../core/domain/diarization/solo-spans.js";
import type { SpeakerWindow } from "../../../core/domain/diarization/windows.js";
import { type GraphOptions, lastDimension, loadGraph, requireDimension } from "../graph.js";
import type { Graph } from "../graph-interface.js";
import { brokenModel, fileNameOf, type ModelPackage } from "../package.js";
import type { SpeakerModel } from "../speaker-model.js";
import type { PyannoteManifest } from "./manifest.js";

/**
 * A segmentation of windows and a speaker embedding, as sherpa-onnx exports them: segmentation f32
 * [N, 1, samples] → scores f32 [N, frames, classes of a powerset]; embedding f32 [N, frames, 80] of Kaldi
 * features, the mean of the utterance subtracted → f32 [N, dimensions]. Their tensors have various names.
 *
 * @see k2-fsa/sherpa-onnx at a076051, `sherpa-onnx/csrc/offline-speaker-diarization-pyannote-impl.h`, and
 * `scripts/pyannote/segmentation`
 */
export class Pyannote implements SpeakerModel {
  readonly manifest: PyannoteManifest;
  readonly #segmentation: Graph;
  readonly #embedding: Graph;
  readonly #sets: Uint8Array;
  readonly #logMel: LogMel;

  private constructor(
    manifest: PyannoteManifest,
    graphs: { segmentation: Graph; embedding: Graph },
    sets: Uint8Array,
  ) {
    this.manifest = manifest;
    this.#segmentation = graphs.segmentation;
    this.#embedding = graphs.embedding;
    this.#sets = sets;
    this.#logMel = new LogMel(FRONT_ENDS.kaldi(manifest.melBins));
  }

  /** @throws {ServiceError} `MODEL_BROKEN` with the file and the tensor */
  static async load(model: ModelPackage<PyannoteManifest>, options: GraphOptions): Promise<Pyannote> {
    const segmentation = await loadGraph(model, { file: "segmentation", inputs: [], outputs: [] }, options);
    const embedding = await loadGraph(model, { file: "embedding", inputs: [], outputs: [] }, options);
    try {
      const classes = lastDimension(
        segmentation,
        segmentation.outputNames[0]!,
        fileNameOf(model, "segmentation"),
      );
      const name = fileNameOf(model, "embedding");
      requireDimension(embedding, name, embedding.inputNames[0]!, {
        axis: 2,
        expected: model.manifest.melBins,
      });
      return new Pyannote(model.manifest, { segmentation, embedding }, setsOf(classes, model));
    } catch (error) {
      await Promise.all([segmentation.release(), embedding.release()]);
      throw error;
    }
  }

  async hearWindow(samples: Float32Array, endSample: number): Promise<SpeakerWindow> {
    const frames = speakersPerFrame(await this.#segment(samples), this.#sets);
    const speakers = 32 - Math.clz32(this.#sets.at(-1)!);
    const embeddings: (Float32Array | null)[] = [];
    for (let speaker = 0; speaker < speakers; speaker++) {
      const spans = soloSpans(frames, speaker, samples.length);
      embeddings.push(await this.embed(joinedSpans(samples, spans, endSample)));
    }
    return { frames, embeddings };
  }

  /** Embeds one speaker's speech; null if it is too short for a frame, or the graph outputs NaN. */
  async embed(pcm: Float32Array): Promise<Float32Array | null> {
    const bins = this.manifest.melBins;
    const features = withoutMean(this.#logMel.compute(pcm), bins);
    if (features.length === 0) return null;
    const [input] = this.#embedding.inputNames;
    const x = new Tensor("float32", features, [1, features.length / bins, bins]);
    const answer = await this.#embedding.run({ [input!]: x });
    const embedding = floats(answer[this.#embedding.outputNames[0]!]!).slice();
    return embedding.some(Number.isNaN) ? null : embedding;
  }

  async release(): Promise<void> {
    await Promise.all([this.#segmentation.release(), this.#embedding.release()]);
  }

  async #segment(samples: Float32Array): Promise<Float32Array> {
    const [input] = this.#segmentation.inputNames;
    const answer = await this.#segmentation.run({
      [input!]: new Tensor("float32", samples, [1, 1, samples.length]),
    });
    return floats(answer[this.#segmentation.outputNames[0]!]!);
  }
}

function setsOf(classes: number, model: ModelPackage): Uint8Array {
  try {
    return powersetOf(classes);
  } catch (error) {
    const name = fileNameOf(model, "segmentation");
    throw brokenModel(`Cannot load ${name}: ${(error as Error).message}`, error);
  }
}

/** Subtracts the mean of each band, in place. */
function withoutMean(features: Float32Array, bins: number): Float32Array {
  const frames = features.length / bins;
  for (let bin = 0; bin < bins; bin++) {
    let sum = 0;
    for (let at = bin; at < features.length; at += bins) sum += features[at]!;
    for (let at = bin; at < features.length; at += bins) features[at]! -= sum / frames;
  }
  return features;
}

function floats({ data }: Tensor): Float32Array {
  if (data instanceof Float32Array) return data;
  throw brokenModel("Cannot label speakers: the graph's output must be float32");
}
