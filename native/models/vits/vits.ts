import { type InferenceSession, Tensor } from "onnxruntime-node";
import { fadeEnds } from "../../../core/domain/audio/fade.js";
import { ServiceError } from "../../../core/domain/errors.js";
import type { SynthesisJob } from "../../../core/ports/synthesizer.js";
import { Espeak, findEspeak } from "../../phonemes/espeak.js";
import { sentencesOfPhonemes } from "../../phonemes/piper-phonemes.js";
import { type GraphOptions, loadGraph } from "../graph.js";
import type { Graph, GraphContract } from "../graph-interface.js";
import { brokenModel, fileNameOf, type ModelPackage } from "../package.js";
import type { PieceModel, PieceTurn } from "../synthesizer.js";
import { decoderWindows, framesOf } from "./decoder-windows.js";
import type { VitsContents, VitsManifest } from "./manifest.js";
import { type EncodedSentence, encodeCharacters, encodePhonemes } from "./phoneme-ids.js";
import { type SaidSentence, wordBounds } from "./word-bounds.js";

const PIPER = {
  file: "model",
  inputs: ["input", "input_lengths", "scales"],
  outputs: ["output"],
} as const satisfies GraphContract;
const PIPER_ENCODER = {
  ...PIPER,
  file: "encoder",
  outputs: ["z", "y_mask"],
} as const satisfies GraphContract;
const PIPER_DECODER = {
  file: "decoder",
  inputs: ["z", "y_mask"],
  outputs: ["output"],
} as const satisfies GraphContract;
const MMS = {
  file: "model",
  inputs: ["x", "x_length", "noise_scale", "length_scale", "noise_scale_w"],
  outputs: ["y"],
} as const satisfies GraphContract;

/** Id of the blank in MMS's tokenizer. */
const BLANK = 0;
/** Defaults of Piper's own program. */
const DEFAULTS = { noiseScale: 0.667, lengthScale: 1, durationNoiseScale: 0.8 };
/** Silence between two sentences of a piece, as in Piper's own program. */
const SENTENCE_SILENCE_SECONDS = 0.2;
const FADE_SECONDS = 0.005;

/** The phonemes or characters of a sentence, with their ids. */
interface Sentence extends EncodedSentence {
  readonly phonemes: readonly string[];
}

type Reader = (text: string, signal: AbortSignal) => Promise<Sentence[]>;
type Answer = InferenceSession.ReturnType;

interface Graphs {
  /** From tokens to samples, or to `z` if there is a decoder. */
  readonly model: Graph;
  readonly decoder: Graph | null;
}

/**
 * VITS as Piper and MMS export it. Piper: input int64 [1, N], input_lengths int64 [1], scales f32 [3] of
 * noise, length and duration noise, sid int64 [1] if there are speakers; output f32 [1, 1, samples] or [1, 1,
 * 1, samples]. MMS by sherpa-onnx: x, x_length and the three scales as f32 [1]; y. In Piper's streaming
 * export, the encoder outputs z f32 [1, channels, T], y_mask [1, 1, T] and g if there are speakers; its
 * decoder runs in windows.
 *
 * Phonemes come from espeak-ng, which must be installed. The graph draws the noise: equal jobs give different
 * samples, unless both noise scales are 0 or the graph has an input `seed`, int64 [1]. `nfe` of a request has
 * no effect.
 *
 * @see rhasspy/piper, `piper_train/export_onnx.py` and `export_onnx_streaming.py` at 7f66948; k2-fsa/sherpa,
 *   MMS export
 */
export class Vits implements PieceModel {
  readonly manifest: VitsManifest;
  readonly #graphs: Graphs;
  readonly #read: Reader;
  readonly #espeak: Espeak | null;
  readonly #scales: typeof DEFAULTS;
  #unknownPhonemes = 0;

  private constructor(
    model: ModelPackage<VitsManifest, VitsContents>,
    graphs: Graphs,
    espeak: Espeak | null,
  ) {
    const { manifest, contents } = model;
    this.manifest = manifest;
    this.#graphs = graphs;
    this.#espeak = espeak;
    this.#read = readerOf(model, espeak);
    const { noise_scale, length_scale, noise_w } = contents.config?.inference ?? {};
    this.#scales = {
      noiseScale: manifest.noiseScale ?? noise_scale ?? DEFAULTS.noiseScale,
      lengthScale: manifest.lengthScale ?? length_scale ?? DEFAULTS.lengthScale,
      durationNoiseScale: manifest.durationNoiseScale ?? noise_w ?? DEFAULTS.durationNoiseScale,
    };
  }

  /** @throws {ServiceError} `MODEL_BROKEN` with the missing or wrong file, or if espeak-ng is missing */
  static async load(model: ModelPackage<VitsManifest, VitsContents>, options: GraphOptions): Promise<Vits> {
    const espeak = await openEspeak(model);
    return new Vits(model, await loadGraphs(model, options), espeak);
  }

  /** Number of phonemes and characters left out so far, because they have no id. */
  get unknownPhonemes(): number {
    return this.#unknownPhonemes;
  }

  async speak(job: SynthesisJob, turn: PieceTurn): Promise<Int32Array | null> {
    const voice = this.manifest.voices.find(({ name }) => name === job.voice);
    if (voice === undefined) throw new ServiceError("UNKNOWN_VOICE", `voice ${job.voice} is not known`);
    const said: SaidSentence[] = [];
    let samplesBefore = 0;
    for (const sentence of await this.#read(job.spokenText, turn.signal)) {
      this.#unknownPhonemes += sentence.unknown;
      if (samplesBefore > 0) samplesBefore += await this.#giveSilence(turn);
      await turn.checkpoint();
      const answer = await this.#graphs.model.run(this.#feeds(sentence, job, voice.index));
      const samples = this.#samplesOf(sentence, answer, samplesBefore);
      if (samples !== null) said.push({ phonemes: sentence.phonemes, samples });
      samplesBefore += await this.#give(answer, turn);
    }
    return said.length === 0 ? null : wordBounds(job.spokenText, said);
  }

  async release(): Promise<void> {
    this.#espeak?.close();
    await this.#graphs.model.release();
    await this.#graphs.decoder?.release();
  }

  #feeds({ ids }: Sentence, { speed, seed }: SynthesisJob, speaker: number): Record<string, Tensor> {
    const { inputNames } = this.#graphs.model;
    const { noiseScale, lengthScale, durationNoiseScale } = this.#scales;
    const tokens = new Tensor("int64", ids, [1, ids.length]);
    const length = whole(ids.length);
    const isPiper = inputNames.includes("input");
    const scales = Float32Array.of(noiseScale, lengthScale / speed, durationNoiseScale);
    const feeds: Record<string, Tensor> = isPiper
      ? { input: tokens, input_lengths: length, scales: new Tensor("float32", scales, [3]) }
      : {
          x: tokens,
          x_length: length,
          noise_scale: scalar(scales[0]!),
          length_scale: scalar(scales[1]!),
          noise_scale_w: scalar(scales[2]!),
        };
    if (inputNames.includes("sid")) feeds["sid"] = whole(speaker);
    if (inputNames.includes("seed")) feeds["seed"] = whole(seed);
    return feeds;
  }

  /** Sends the samples of a sentence and returns their number. */
  async #give(answer: Answer, turn: PieceTurn): Promise<number> {
    const { decoder } = this.#graphs;
    const fade = Math.round(FADE_SECONDS * this.manifest.sampleRateHz);
    if (decoder === null) {
      const samples = (answer["output"] ?? answer["y"])!.data as Float32Array;
      fadeEnds(samples, { offset: 0, pieceSamples: samples.length, samples: fade });
      await turn.give(samples);
      return samples.length;
    }
    const { hopSamples, decoderContextFrames } = this.manifest;
    const { z, y_mask: mask, g } = answer as Record<string, Tensor>;
    const frames = z!.dims[2]!;
    for (const window of decoderWindows(frames, decoderContextFrames)) {
      if (window.start > 0) await turn.checkpoint();
      const { output } = await decoder.run({
        z: framesOf(z!, window),
        y_mask: framesOf(mask!, window),
        ...(g !== undefined && decoder.inputNames.includes("g") && { g }),
      });
      const first = (window.start - window.from) * hopSamples;
      const samples = (output!.data as Float32Array).subarray(
        first,
        first + (window.stop - window.start) * hopSamples,
      );
      const offset = window.start * hopSamples;
      fadeEnds(samples, { offset, pieceSamples: frames * hopSamples, samples: fade });
      await turn.give(samples);
    }
    return frames * hopSamples;
  }

  async #giveSilence(turn: PieceTurn): Promise<number> {
    const samples = new Float32Array(Math.round(SENTENCE_SILENCE_SECONDS * this.manifest.sampleRateHz));
    await turn.give(samples);
    return samples.length;
  }

  /** Returns the sample at which each phoneme begins; null if the graph has no durations. */
  #samplesOf({ starts }: Sentence, answer: Answer, samplesBefore: number): Float64Array | null {
    const { durations, hopSamples } = this.manifest;
    if (durations === undefined) return null;
    const frames = Array.from(answer[durations]!.data as Float32Array | BigInt64Array, Number);
    let token = 0;
    let frame = 0;
    return Float64Array.from(starts, (start) => {
      for (; token < start; token++) frame += frames[token] ?? 0;
      return samplesBefore + frame * hopSamples;
    });
  }
}

async function openEspeak(model: ModelPackage<VitsManifest, VitsContents>): Promise<Espeak | null> {
  const { config } = model.contents;
  if (config === undefined || config.phoneme_type !== "espeak" || config.espeak === undefined) return null;
  const { id } = model.manifest;
  const program = findEspeak(process.env["PATH"] ?? "");
  if (program === null) {
    const rule = "its voices need espeak-ng, which is not on PATH: apt-get install espeak-ng";
    throw brokenModel(`Cannot load ${id}: ${rule}`);
  }
  const { voice } = config.espeak;
  const espeak = new Espeak({ voice, program });
  try {
    // Report an unknown language now, not with the first sentence.
    await espeak.read("а", new AbortController().signal);
  } catch (error) {
    espeak.close();
    const reason = ((error as Error).cause as Error | undefined)?.message ?? (error as Error).message;
    const rule = `espeak.voice must be a voice of espeak-ng that speaks, found ${voice}: ${reason}`;
    throw brokenModel(`Cannot load ${fileNameOf(model, "config")}: ${rule}`, error);
  }
  return espeak;
}

async function loadGraphs(
  model: ModelPackage<VitsManifest, VitsContents>,
  options: GraphOptions,
): Promise<Graphs> {
  const { files, voices, durations } = model.manifest;
  const isSplit = "encoder" in files;
  const contract = isSplit ? PIPER_ENCODER : "config" in files ? PIPER : MMS;
  const outputs = [...contract.outputs, ...(durations === undefined ? [] : [durations])];
  const graph = await loadGraph(model, { ...contract, outputs }, options);
  if (voices.length > 1 && !graph.inputNames.includes("sid")) {
    const rule = `inputs must contain sid for ${voices.length} voices`;
    throw brokenModel(`Cannot load ${fileNameOf(model, contract.file)}: ${rule}`);
  }
  return { model: graph, decoder: isSplit ? await loadGraph(model, PIPER_DECODER, options) : null };
}

function readerOf(
  { manifest, contents }: ModelPackage<VitsManifest, VitsContents>,
  espeak: Espeak | null,
): Reader {
  const { config, symbols } = contents;
  if (config === undefined) {
    const blank = manifest.addsBlanks ? BLANK : null;
    return (text) => {
      const phonemes = [...text.normalize("NFC").toLowerCase()];
      return Promise.resolve(knownOnly({ phonemes, ...encodeCharacters(phonemes, symbols!, { blank }) }));
    };
  }
  const encoded = (phonemes: readonly string[]) =>
    knownOnly({ phonemes, ...encodePhonemes(phonemes, config.phoneme_id_map) });
  if (espeak === null) {
    return (text) => Promise.resolve(encoded([...text.toLowerCase().normalize("NFD")]));
  }
  return async (text, signal) => {
    const sentences = sentencesOfPhonemes(await espeak.read(text, signal), config.phoneme_map);
    return sentences.flatMap(encoded);
  };
}

/** Drops a sentence without a single known phoneme. */
function knownOnly(sentence: Sentence): Sentence[] {
  return sentence.unknown === sentence.phonemes.length ? [] : [sentence];
}

function whole(value: number): Tensor {
  return new Tensor("int64", BigInt64Array.of(BigInt(value)), [1]);
}

function scalar(value: number): Tensor {
  return new Tensor("float32", Float32Array.of(value), [1]);
}
