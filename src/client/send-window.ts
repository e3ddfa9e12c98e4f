/** Well below the 60 s that the service buffers for a session. */
const AHEAD_BYTES = 30 * 32_000;
/** The service transcribes much faster than real time; twice as fast is a safe assumption. */
const ASSUMED_BYTES_PER_MS = (2 * 32_000) / 1_000;

/**
 * Limits how far sending runs ahead of transcription: the service rejects a session with too much audio
 * waiting, and reports its position only while someone speaks. Counts bytes of 16-bit PCM at 16 kHz.
 */
export class SendWindow {
  #transcribedBytes = 0;
  #sentBytes = 0;
  #atMs: number;

  constructor(nowMs: number) {
    this.#atMs = nowMs;
  }

  roomBytes(nowMs: number): number {
    this.#advance(this.#transcribedBytes + (nowMs - this.#atMs) * ASSUMED_BYTES_PER_MS);
    this.#atMs = nowMs;
    return Math.max(0, Math.floor(this.#transcribedBytes + AHEAD_BYTES - this.#sentBytes));
  }

  sent(bytes: number): void {
    this.#sentBytes += bytes;
  }

  /** Notes a result that ends at `seconds` of this socket's audio. */
  transcribedUntil(seconds: number): void {
    this.#advance(Math.max(this.#transcribedBytes, seconds * 32_000));
  }

  #advance(bytes: number): void {
    this.#transcribedBytes = Math.min(bytes, this.#sentBytes);
  }
}
