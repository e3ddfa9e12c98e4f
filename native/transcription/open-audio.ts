import { toFloat } from "../../core/domain/audio/pcm.js";
import type { SampleSpan } from "../../core/domain/audio/resample.js";
import { ServiceError } from "../../core/domain/errors.js";
import type { AudioSource, PcmSource } from "../threads/protocol.js";
import { WavAudio } from "./wav-audio.js";

/** Samples of a file at a model's rate. */
export interface FileAudio {
  /** Mono, -1 to 1, of 16 bits; silence behind the end. @throws {ServiceError} `INTERNAL` where samples are missing */
  read(span: SampleSpan): Promise<Float32Array>;
  close(): Promise<void>;
}

export async function openAudio(source: AudioSource, rateHz: number): Promise<FileAudio> {
  return "path" in source ? WavAudio.open(source, rateHz) : new PcmAudio(source);
}

/** A part of a file in memory. */
class PcmAudio implements FileAudio {
  readonly #source: PcmSource;

  constructor(source: PcmSource) {
    this.#source = source;
  }

  async read({ start, end }: SampleSpan): Promise<Float32Array> {
    const { startSample, sampleCount } = this.#source;
    const samples = new Float32Array(end - start);
    const heardEnd = Math.min(end, sampleCount);
    if (heardEnd <= start) return samples;
    const there = new Int16Array(this.#source.samples);
    if (start < startSample || heardEnd > startSample + there.length) {
      const span = `${startSample} to ${startSample + there.length}`;
      throw new ServiceError("INTERNAL", `Cannot read the audio: ${start} to ${heardEnd} is not in ${span}`);
    }
    samples.set(toFloat(there.subarray(start - startSample, heardEnd - startSample)));
    return samples;
  }

  async close(): Promise<void> {}
}
