import { ALAW_SAMPLES, MULAW_SAMPLES } from "./g711.js";
import { toInt16 } from "./pcm.js";
import { type ResampleOptions, Resampler } from "./resample.js";

export type StreamedFormat = "linear16" | "mulaw" | "alaw";

/**
 * Converts raw samples of a live client, in any chunking, to the 16-bit mono PCM of sessions.
 *
 * Holding samples back for the filter would complete a session's frame only with the client's next message,
 * which would delay every result. The sound is 2 ms late instead (4 ms at 8 kHz).
 */
export class StreamedPcm {
  readonly #format: StreamedFormat;
  readonly #rates: ResampleOptions;
  /** Created with the first audio, because its filter takes milliseconds. */
  #resampler: Resampler | null = null;
  /** First byte of a sample whose second byte has not arrived yet. */
  #oddByte: number | null = null;

  /** @param fromHz an integer from 4,000 to 384,000 */
  constructor(format: StreamedFormat, fromHz: number, toHz: number) {
    this.#format = format;
    this.#rates = { fromHz, toHz };
  }

  push(bytes: Uint8Array): Int16Array {
    this.#resampler ??= new Resampler({ ...this.#rates, isPrompt: true });
    return toInt16(this.#resampler.push(this.#samples(bytes)));
  }

  /** Ends the stream. Returns samples that `push` has not returned, if any. */
  flush(): Int16Array {
    return this.#resampler === null ? new Int16Array(0) : toInt16(this.#resampler.flush());
  }

  #samples(bytes: Uint8Array): Float32Array {
    if (this.#format === "linear16") return this.#linear(bytes);
    const table = this.#format === "mulaw" ? MULAW_SAMPLES : ALAW_SAMPLES;
    const samples = new Float32Array(bytes.length);
    for (let i = 0; i < bytes.length; i++) samples[i] = table[bytes[i]!]!;
    return samples;
  }

  #linear(bytes: Uint8Array): Float32Array {
    const carried = this.#oddByte === null ? 0 : 1;
    const samples = new Float32Array((bytes.length + carried) >> 1);
    const byteAt = (index: number) => (index < 0 ? this.#oddByte! : bytes[index]!);
    for (let i = 0; i < samples.length; i++) {
      const low = 2 * i - carried;
      samples[i] = (((byteAt(low + 1) << 8) | byteAt(low)) << 16) / 0x8000_0000;
    }
    this.#oddByte = (bytes.length + carried) % 2 === 0 ? null : byteAt(bytes.length - 1);
    return samples;
  }
}
