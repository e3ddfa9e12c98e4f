import { toFloat } from "../../core/domain/audio/pcm.js";
import type { SampleSpan } from "../../core/domain/audio/resample.js";
import { ServiceError } from "../../core/domain/errors.js";
import type { AudioSource, PcmSource } from "../threads/protocol.js";
import { WavAudio } from "./wav-audio.js";

/** Samples of a file at the model's rate. */
export interface FileAudio {
  /** Reads mono, -1 to 1, of 16 bits; silence after the end. @throws {ServiceError} `INTERNAL` if samples are missing */
  read(span: SampleSpan): Promise<Float32Array>;
  close(): Promise<void>;
}

export async function openAudio(source: AudioSource, rateHz: number): Promise<FileAudio> {
  return "path" in source ? WavAudio.open(source, rateHz) : new PcmAudio(source);
}

class PcmAudio implements FileAudio {
  readonly #source: PcmSource;

  constructor(source: PcmSource) {
    this.#source = source;
  }

  async read({ start, end }: SampleSpan): Promise<Float32Array> {
    const { startSample, sampleCount } = this.#source;
    const samples = new Float32Array(end - start);
    const audioEnd = Math.min(end, sampleCount);
    if (audioEnd <= start) return samples;
    const available = new Int16Array(this.#source.samples);
    if (start < startSample || audioEnd > startSample + available.length) {
      const span = `${startSample} to ${startSample + available.length}`;
      throw new ServiceError("INTERNAL", `Cannot read the audio: ${start} to ${audioEnd} is not in ${span}`);
    }
    samples.set(toFloat(available.subarray(start - startSample, audioEnd - startSample)));
    return samples;
  }

  async close(): Promise<void> {}
}
