import { toAlaw, toMulaw } from "./g711.js";
import { littleEndianBytes, toFloat, toInt16 } from "./pcm.js";
import { type ResampleOptions, Resampler } from "./resample.js";
import type { StreamedFormat } from "./streamed-pcm.js";

/**
 * Converts a voice's 16-bit mono PCM, in chunks of any size, to the format and rate that the client plays.
 */
export class EncodedPcm {
  readonly #format: StreamedFormat;
  readonly #rates: ResampleOptions;
  /** Null before the first samples and between two stretches of speech. */
  #resampler: Resampler | null = null;

  constructor(format: StreamedFormat, fromHz: number, toHz: number) {
    this.#format = format;
    this.#rates = { fromHz, toHz };
  }

  /** Converts samples; may return none, because the resampler holds back as many as its filter needs. */
  push(pcm: Int16Array): Uint8Array {
    if (this.#rates.fromHz === this.#rates.toHz) return this.#encode(pcm);
    this.#resampler ??= new Resampler(this.#rates);
    return this.#encode(toInt16(this.#resampler.push(toFloat(pcm))));
  }

  /** Returns the samples that the resampler holds back, as if silence followed; more speech may come. */
  flush(): Uint8Array {
    const rest = this.#resampler?.flush();
    this.#resampler = null;
    return this.#encode(rest === undefined ? new Int16Array(0) : toInt16(rest));
  }

  #encode(pcm: Int16Array): Uint8Array {
    if (this.#format === "mulaw") return toMulaw(pcm);
    if (this.#format === "alaw") return toAlaw(pcm);
    return littleEndianBytes(pcm);
  }
}
