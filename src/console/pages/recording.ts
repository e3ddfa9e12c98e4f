import { concatenatePcm } from "../../../core/domain/audio/pcm.js";

/** Longest recording kept; 20 minutes of 16-bit samples at 16 kHz are 38 MB. */
const LONGEST_SECONDS = 20 * 60;

/** Microphone audio, kept in memory for playback. */
export class Recording {
  readonly #rateHz: number;
  #pieces: Int16Array[] | null = [];
  #sampleCount = 0;

  constructor(rateHz: number) {
    this.#rateHz = rateHz;
  }

  get seconds(): number {
    return this.#sampleCount / this.#rateHz;
  }

  add(pcm: Int16Array): void {
    this.#sampleCount += pcm.length;
    // Drop all of it: half a recording next to a whole transcript would mislead.
    if (this.seconds > LONGEST_SECONDS) this.#pieces = null;
    this.#pieces?.push(pcm);
  }

  /** Returns null if the recording became too long. */
  samples(): Int16Array | null {
    return this.#pieces === null ? null : concatenatePcm(this.#pieces);
  }
}
