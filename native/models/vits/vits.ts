import { type InferenceSession, Tensor } from "onnxruntime-node";
import { fadeEnds } from "../../../core/domain/audio/fade.js";
import { ServiceError } from "../../../core/domain/errors.js";
import type { SynthesisJob } from "../../../core/ports/synthesizer.js";
import { type GraphOptions, loadGraph } from "../graph.js";
import type { Graph, GraphContract } from "../graph-interface.js";
import { brokenModel, fileNameOf, type ModelPackage } from "../package.js";
import type { PieceModel, PieceTurn } from "../synthesizer.js";
import { decoderWindows, framesOf } from "./decoder-windows.js";
import type { VitsContents, VitsManifest } from "./manifest.js";
import { keptSamples } from "./part-silence.js";
import type { EncodedSentence } from "./phoneme-ids.js";
import { countWords, SentenceParts } from "./sentence-parts.js";
import { openReader, type SentenceReader } from "./sentence-reader.js";
import { Playback, WorkPace } from "./speech-pace.js";
import { type SaidSentence, wordBounds, writtenWords } from "./word-bounds.js";

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

/** Defaults of Piper's own program. */
const DEFAULTS = { noiseScale: 0.667, lengthScale: 1, durationNoiseScale: 0.8 };
/** Silence between two sentences of a piece, as in Piper's own program. */
const SENTENCE_SILENCE_SECONDS = 0.2;
const FADE_SECONDS = 0.005;
const MARK = /[.,?!:;]$/u;
/** Estimate before the first measurement: about the pace of speech. */
const SECONDS_PER_SYMBOL = 0.06;
const SECONDS_PER_FRAME = 0.01;

type Answer = InferenceSession.ReturnType;

interface Graphs {
  /** From tokens to samples, or to `z` if there is a decoder. */
  readonly model: Graph;
  readonly decoder: Graph | null;
}

/** A piece that is being spoken. */
interface Speaking {
  readonly job: SynthesisJob;
  readonly turn: PieceTurn;
  readonly playback: Playback;
  readonly speaker: number;
  readonly said: SaidSentence[];
  samples: number;
}

/** A sentence or a part of one. */
interface Part {
  readonly phonemes: readonly string[];
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/**
 * VITS as Piper and MMS export it. Piper: input int64 [1, N], input_lengths int64 [1], scales f32 [3] of
 * noise, length and duration noise, sid int64 [1] if there are speakers; output f32 [1, 1, samples] or [1, 1,
 * 1, samples]. MMS by sherpa-onnx: x, x_length and the three scales as f32 [1]; y. In Piper's streaming
 * export, the encoder outputs z f32 [1, channels, T], y_mask [1, 1, T] and g if there are speakers; its
 * decoder runs in windows.
 *
 * A streamed sentence of a graph that cannot run in windows is synthesized in parts (`pieces`): each is as
 * long as the buffered speech allows, by the measured pace of this worker.
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
  readonly #reader: SentenceReader;
  readonly #scales: typeof DEFAULTS;
  readonly #cutsClauses: boolean;
  readonly #nowMs: () => number;
  readonly #symbolPace = new WorkPace(SECONDS_PER_SYMBOL);
  readonly #framePace = new WorkPace(SECONDS_PER_FRAME);
  #unknownPhonemes = 0;

  private constructor(
    model: ModelPackage<VitsManifest, VitsContents>,
    graphs: Graphs,
    reader: SentenceReader,
    nowMs: () => number,
  ) {
    this.#nowMs = nowMs;
    const { manifest, contents } = model;
    this.manifest = manifest;
    this.#graphs = graphs;
    this.#reader = reader;
    this.#cutsClauses = (manifest.pieces ?? (graphs.decoder === null ? "clauses" : "sentence")) === "clauses";
    const { noise_scale, length_scale, noise_w } = contents.config?.inference ?? {};
    this.#scales = {
      noiseScale: manifest.noiseScale ?? noise_scale ?? DEFAULTS.noiseScale,
      lengthScale: manifest.lengthScale ?? length_scale ?? DEFAULTS.lengthScale,
      durationNoiseScale: manifest.durationNoiseScale ?? noise_w ?? DEFAULTS.durationNoiseScale,
    };
  }

  /**
   * @param nowMs clock of the listener and of the work
   * @throws {ServiceError} `MODEL_BROKEN` with the missing or wrong file, or if espeak-ng is missing
   */
  static async load(
    model: ModelPackage<VitsManifest, VitsContents>,
    options: GraphOptions,
    nowMs: () => number = () => performance.now(),
  ): Promise<Vits> {
    const reader = await openReader(model);
    return new Vits(model, await loadGraphs(model, options), reader, nowMs);
  }

  /** Number of phonemes and characters dropped so far because they have no id. */
  get unknownPhonemes(): number {
    return this.#unknownPhonemes;
  }

  async speak(job: SynthesisJob, turn: PieceTurn): Promise<Int32Array | null> {
    const voice = this.manifest.voices.find(({ name }) => name === job.voice);
    if (voice === undefined) throw new ServiceError("UNKNOWN_VOICE", `voice ${job.voice} is not known`);
    const playback = new Playback(turn.playsFromMs ?? null, this.#nowMs);
    const speaking = { job, turn, playback, speaker: voice.index, said: [], samples: 0 };
    const sentences = await this.#reader.read(job.spokenText, turn.signal);
    const counts = sentences.map(countWords);
    const words = writtenWords(job.spokenText);
    const isWritten = words.length === counts.reduce((sum, count) => sum + count, 0);
    let word = 0;
    for (const [index, phonemes] of sentences.entries()) {
      const own = words.slice(word, word + counts[index]!);
      word += counts[index]!;
      if (this.#isUnknown(phonemes)) continue;
      if (speaking.samples > 0) await this.#giveSilence(speaking);
      await this.#speakSentence(new SentenceParts(phonemes, isWritten ? own : null), speaking);
    }
    return speaking.said.length === 0 ? null : wordBounds(job.spokenText, speaking.said);
  }

  async release(): Promise<void> {
    this.#reader.close();
    await this.#graphs.model.release();
    await this.#graphs.decoder?.release();
  }

  async #speakSentence(parts: SentenceParts, speaking: Speaking): Promise<void> {
    const { job, turn, playback } = speaking;
    const isCut = this.#cutsClauses && job.chunking === "growing";
    while (!parts.isAtEnd) {
      await turn.checkpoint();
      const isFirst = parts.isAtStart;
      const symbols = this.#symbolPace.unitsIn(playback.workSeconds) * job.speed;
      const phonemes = parts.next(isCut ? symbols : Number.POSITIVE_INFINITY);
      if (this.#isUnknown(phonemes)) continue;
      await this.#speakPart({ phonemes, isFirst, isLast: parts.isAtEnd }, speaking);
    }
  }

  async #speakPart(part: Part, speaking: Speaking): Promise<void> {
    const { job, speaker } = speaking;
    const startedAtMs = this.#nowMs();
    const encoded = this.#reader.encode(part.phonemes);
    this.#unknownPhonemes += encoded.unknown;
    const answer = await this.#graphs.model.run(this.#feeds(encoded, job, speaker));
    const starts = this.#startsOf(encoded, answer);
    if (this.#graphs.decoder !== null && !this.#cutsClauses) {
      this.#say(part, starts, { start: 0, end: Number.POSITIVE_INFINITY }, speaking);
      return this.#giveWindows(answer, speaking);
    }
    const samples = await this.#decode(answer);
    this.#symbolPace.learn(part.phonemes.length / job.speed, (this.#nowMs() - startedAtMs) / 1_000);
    const hasMark = MARK.test(part.phonemes.at(-1)!);
    const kept = keptSamples(samples, this.manifest.sampleRateHz, { ...part, hasMark });
    this.#say(part, starts, kept, speaking);
    await this.#give(samples.subarray(kept.start, kept.end), speaking, 0, kept.end - kept.start);
  }

  #feeds({ ids }: EncodedSentence, { speed, seed }: SynthesisJob, speaker: number): Record<string, Tensor> {
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

  /** Computes all samples of a part in one run. */
  async #decode(answer: Answer): Promise<Float32Array> {
    const { decoder } = this.#graphs;
    if (decoder === null) return (answer["output"] ?? answer["y"])!.data as Float32Array;
    const { z, y_mask, g } = answer as Record<string, Tensor>;
    const speaker = g !== undefined && decoder.inputNames.includes("g") ? { g } : {};
    const { output } = await decoder.run({ z: z!, y_mask: y_mask!, ...speaker });
    return output!.data as Float32Array;
  }

  async #giveWindows(answer: Answer, speaking: Speaking): Promise<void> {
    const { job, turn, playback } = speaking;
    const { hopSamples, decoderContextFrames } = this.manifest;
    const { z, y_mask: mask } = answer as Record<string, Tensor>;
    const frames = z!.dims[2]!;
    const affordable =
      job.chunking === "growing" ? () => this.#framePace.unitsIn(playback.workSeconds) : null;
    for (const window of decoderWindows(frames, decoderContextFrames, affordable)) {
      if (window.start > 0) await turn.checkpoint();
      const startedAtMs = this.#nowMs();
      const part = { ...answer, z: framesOf(z!, window), y_mask: framesOf(mask!, window) };
      const decoded = await this.#decode(part);
      this.#framePace.learn(window.to - window.from, (this.#nowMs() - startedAtMs) / 1_000);
      const first = (window.start - window.from) * hopSamples;
      const samples = decoded.subarray(first, first + (window.stop - window.start) * hopSamples);
      await this.#give(samples, speaking, window.start * hopSamples, frames * hopSamples);
    }
  }

  /** Sends samples from `offset` of a part of `partSamples`, faded at the part's ends. */
  async #give(samples: Float32Array, speaking: Speaking, offset: number, partSamples: number): Promise<void> {
    const { sampleRateHz } = this.manifest;
    const fade = Math.round(FADE_SECONDS * sampleRateHz);
    fadeEnds(samples, { offset, pieceSamples: partSamples, samples: fade });
    speaking.samples += samples.length;
    speaking.playback.sent(samples.length / sampleRateHz);
    await speaking.turn.give(samples);
  }

  async #giveSilence(speaking: Speaking): Promise<void> {
    const samples = Math.round(SENTENCE_SILENCE_SECONDS * this.manifest.sampleRateHz);
    await this.#give(new Float32Array(samples), speaking, 0, samples);
  }

  /** Records when each phoneme of a part starts, if the graph reports it. */
  #say(
    { phonemes }: Part,
    starts: Float64Array | null,
    kept: { readonly start: number; readonly end: number },
    { said, samples: before }: Speaking,
  ): void {
    if (starts === null) return;
    const samples = starts.map((at) => before + Math.min(Math.max(at, kept.start), kept.end) - kept.start);
    said.push({ phonemes, samples });
  }

  /** Returns the part's sample at which each phoneme starts; null if the graph has no durations. */
  #startsOf({ starts }: EncodedSentence, answer: Answer): Float64Array | null {
    const { durations, hopSamples } = this.manifest;
    if (durations === undefined) return null;
    const frames = Array.from(answer[durations]!.data as Float32Array | BigInt64Array, Number);
    let token = 0;
    let frame = 0;
    return Float64Array.from(starts, (start) => {
      for (; token < start; token++) frame += frames[token] ?? 0;
      return frame * hopSamples;
    });
  }

  /** Returns whether none of the phonemes has an id. */
  #isUnknown(phonemes: readonly string[]): boolean {
    return this.#reader.encode(phonemes).unknown === phonemes.length;
  }
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

function whole(value: number): Tensor {
  return new Tensor("int64", BigInt64Array.of(BigInt(value)), [1]);
}

function scalar(value: number): Tensor {
  return new Tensor("float32", Float32Array.of(value), [1]);
}
