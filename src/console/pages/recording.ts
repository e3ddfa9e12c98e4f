import { concatenatePcm } from "../../../core/domain/audio/pcm.js";

/** 20 minutes of 16-bit samples at 16 kHz are 38 MB. */
const LONGEST_SECONDS = 20 * 60;

/** What a microphone heard, in this page's memory, so that it can be heard again. */
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
    // Half a recording would be heard beside a whole text.
    if (this.seconds > LONGEST_SECONDS) this.#pieces = null;
    this.#pieces?.push(pcm);
  }

  /** Null when it became too long to be kept. */
  samples(): Int16Array | null {
    return this.#pieces === null ? null : concatenatePcm(this.#pieces);
  }
}
