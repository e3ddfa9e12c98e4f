import { toInt16 } from "../../core/domain/audio/pcm.js";
import { Resampler } from "../../core/domain/audio/resample.js";
import { SPEECH_RATE_HZ } from "../../core/domain/synthesis/speech-rate.js";

/** Samples per write to the PCM queue: a piece may be longer than the queue. */
const PART_SAMPLES = 1 << 14;

/** Resamples the parts of one piece to the rate of all speech, without seams. */
export class SpeechOut {
  readonly #resampler: Resampler;
  readonly #ratio: number;
  readonly #send: (samples: Int16Array) => Promise<void>;
  #sampleCount = 0;

  /** @param send takes at most {@link PART_SAMPLES}; settles when there is space for more */
  constructor(rateHz: number, send: (samples: Int16Array) => Promise<void>) {
    this.#resampler = new Resampler({ fromHz: rateHz, toHz: SPEECH_RATE_HZ });
    this.#ratio = SPEECH_RATE_HZ / rateHz;
    this.#send = send;
  }

  async write(samples: Float32Array): Promise<void> {
    await this.#sendAll(this.#resampler.push(samples));
  }

  /** Sends the rest of the resampler's output. @returns `bounds` converted to output samples */
  async end(bounds: Int32Array | null): Promise<Int32Array | null> {
    await this.#sendAll(this.#resampler.flush());
    return bounds?.map((sample) => Math.min(Math.round(sample * this.#ratio), this.#sampleCount)) ?? null;
  }

  async #sendAll(samples: Float32Array): Promise<void> {
    const pcm = toInt16(samples);
    this.#sampleCount += pcm.length;
    for (let start = 0; start < pcm.length; start += PART_SAMPLES) {
      await this.#send(pcm.subarray(start, start + PART_SAMPLES));
    }
  }
}
