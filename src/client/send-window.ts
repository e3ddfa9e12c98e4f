/** Seconds that may be sent ahead, well below the 60 s that the service buffers for a session. */
const AHEAD_SECONDS = 30;
/** Assumed transcription speed, relative to real time. The service is much faster, so this is safe. */
const ASSUMED_SPEED = 2;
/** Bytes per second of one channel. */
const BYTES_PER_SECOND = 32_000;

/**
 * Limits how far sending runs ahead of transcription: the service rejects a session with too much waiting
 * audio, and reports its position only while someone speaks. Counts bytes of 16-bit PCM at 16 kHz, with any
 * number of channels.
 */
export class SendWindow {
  #transcribedBytes = 0;
  #sentBytes = 0;
  readonly #bytesPerSecond: number;
  #atMs: number;

  constructor(nowMs: number, channelCount = 1) {
    this.#atMs = nowMs;
    this.#bytesPerSecond = BYTES_PER_SECOND * channelCount;
  }

  roomBytes(nowMs: number): number {
    const perMs = (ASSUMED_SPEED * this.#bytesPerSecond) / 1_000;
    this.#advance(this.#transcribedBytes + (nowMs - this.#atMs) * perMs);
    this.#atMs = nowMs;
    const aheadBytes = AHEAD_SECONDS * this.#bytesPerSecond;
    return Math.max(0, Math.floor(this.#transcribedBytes + aheadBytes - this.#sentBytes));
  }

  sent(bytes: number): void {
    this.#sentBytes += bytes;
  }

  /** Notes a result that ends at `seconds` of this socket's audio. */
  transcribedUntil(seconds: number): void {
    this.#advance(Math.max(this.#transcribedBytes, seconds * this.#bytesPerSecond));
  }

  #advance(bytes: number): void {
    this.#transcribedBytes = Math.min(bytes, this.#sentBytes);
  }
}
