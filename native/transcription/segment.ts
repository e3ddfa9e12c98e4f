import { once } from "node:events";
import { createReadStream, createWriteStream, type WriteStream } from "node:fs";
import { stat } from "node:fs/promises";
import { toInt16 } from "../../src/domain/audio/pcm.js";
import { Resampler } from "../../src/domain/audio/resample.js";
import { audioTooLong } from "../../src/domain/audio/too-long.js";
import { WavSampleReader } from "../../src/domain/audio/wav-samples.js";
import {
  type EndpointEvent,
  Endpointer,
  FINISH_FRAMES,
  pauseFramesFor,
} from "../../src/domain/endpointing/endpointer.js";
import { ServiceError } from "../../src/domain/errors.js";
import type { RecognizerModel, StepBatch } from "../models/recognizer.js";
import { copyState } from "../models/state-rows.js";
import type { FilePiece, FileTask, SegmentResult } from "../threads/protocol.js";
import { obeyCell } from "./task-cell.js";

/** Silence that separates two pieces of a file: longer than live, since nobody waits for the first words. */
const PAUSE_MS = 480;
/** Frames of one run of the encoder: 2 s. */
const CHUNK_FRAMES = 50;
const SHORTEST_SECONDS = 0.1;
const READ_BYTES = 1 << 18;

/**
 * Streams a WAV file through resampling and voice activity: spools mono PCM at the model's rate to disk and finds the
 * runs of speech. Memory does not grow with the length of the file.
 * @throws {ServiceError} `AUDIO_UNREADABLE`, `AUDIO_TOO_SHORT`, `AUDIO_TOO_LONG`, `CANCELLED`
 */
export async function segmentFile(
  task: Extract<FileTask, { type: "segment" }>,
  model: RecognizerModel,
): Promise<SegmentResult> {
  const cell = new Int32Array(task.cell);
  const { size } = await stat(task.wavPath);
  const reader = new WavSampleReader(size);
  const finder = new PieceFinder(model);
  const spool = createWriteStream(task.pcmPath, { mode: 0o600 });
  // Attached before the first write: an error that nobody listens for would end the thread.
  const failed = new Promise<never>((_, reject) => spool.once("error", reject));
  failed.catch(() => undefined);
  let resampler: Resampler | null = null;
  const keep = async (samples: Float32Array): Promise<void> => {
    if (!spool.write(new Uint8Array(toInt16(samples).buffer)))
      await Promise.race([once(spool, "drain"), failed]);
    await finder.push(samples);
  };
  try {
    for await (const bytes of createReadStream(task.wavPath, { highWaterMark: READ_BYTES })) {
      obeyCell(cell);
      const samples = reader.push(bytes as Uint8Array);
      if (reader.header === null) continue;
      const { sampleRateHz } = reader.header;
      // What was decoded counts, not what the header claims.
      if (reader.sampleCount > task.maxSeconds * sampleRateHz) throw audioTooLong(task.maxSeconds);
      resampler ??= new Resampler({ fromHz: sampleRateHz, toHz: model.manifest.sampleRateHz });
      await keep(resampler.push(samples));
    }
    if (reader.header === null || resampler === null) {
      throw new ServiceError("AUDIO_UNREADABLE", "Cannot read the audio: it holds no complete WAVE header");
    }
    const sampleRateInHz = reader.header.sampleRateHz;
    if (reader.sampleCount < SHORTEST_SECONDS * sampleRateInHz) {
      throw new ServiceError("AUDIO_TOO_SHORT", "Cannot transcribe: audio must be at least 0.1 s long");
    }
    await keep(resampler.flush());
    const pieces = await finder.finish();
    await new Promise<void>((resolve, reject) => {
      spool.once("error", reject);
      spool.end(resolve);
    });
    return { pieces, sampleCountIn: reader.sampleCount, sampleRateInHz };
  } finally {
    await closed(spool);
  }
}

/** A file that is still being opened would otherwise appear after its owner has deleted it. */
async function closed(spool: WriteStream): Promise<void> {
  if (spool.closed) return;
  const closing = new Promise<void>((resolve) => spool.once("close", resolve));
  spool.destroy();
  await closing;
}

/** Voice activity over a stream of samples in any cut. */
class PieceFinder {
  readonly #batch: StepBatch;
  readonly #frameSamples: number;
  readonly #endpointer: Endpointer;
  readonly #tailFrames: number;
  readonly #pieces: FilePiece[] = [];
  #filledSamples = 0;
  #totalSamples = 0;

  constructor(model: RecognizerModel) {
    const pauseFrames = pauseFramesFor(PAUSE_MS);
    this.#batch = model.speechBatch(1, CHUNK_FRAMES);
    this.#frameSamples = model.manifest.frameSamples;
    this.#endpointer = new Endpointer({ pauseFrames });
    this.#tailFrames = Math.ceil(pauseFrames / 2);
  }

  async push(samples: Float32Array): Promise<void> {
    this.#totalSamples += samples.length;
    await this.#fill(samples);
  }

  async finish(): Promise<FilePiece[]> {
    const missing = this.#batch.pcm.length - this.#filledSamples;
    const silence = Math.max(missing, FINISH_FRAMES * this.#frameSamples);
    await this.#fill(new Float32Array(silence));
    if (this.#filledSamples > 0) {
      await this.#fill(new Float32Array(this.#batch.pcm.length - this.#filledSamples));
    }
    this.#take(this.#endpointer.finalizeNow());
    return this.#pieces;
  }

  async #fill(samples: Float32Array): Promise<void> {
    const { pcm } = this.#batch;
    for (let offset = 0; offset < samples.length; ) {
      const part = samples.subarray(offset, offset + pcm.length - this.#filledSamples);
      pcm.set(part, this.#filledSamples);
      this.#filledSamples += part.length;
      offset += part.length;
      if (this.#filledSamples === pcm.length) await this.#run();
    }
  }

  async #run(): Promise<void> {
    await this.#batch.run();
    copyState(this.#batch.nextState, this.#batch.state);
    this.#filledSamples = 0;
    for (const probability of this.#batch.speech) this.#take(this.#endpointer.push(probability));
  }

  #take(events: readonly EndpointEvent[]): void {
    for (const event of events) {
      if (event.type !== "ended") continue;
      const tail = event.reason === "too-long" ? 0 : this.#tailFrames;
      const endSample = Math.min((event.endFrame + tail) * this.#frameSamples, this.#totalSamples);
      const startSample = event.startFrame * this.#frameSamples;
      if (endSample > startSample)
        this.#pieces.push({ startSample, endSample, speechMean: event.speechMean });
    }
  }
}
