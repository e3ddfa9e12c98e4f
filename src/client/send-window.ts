/** Well below the 60 s that the service keeps for a session. */
const AHEAD_BYTES = 30 * 32_000;
/** The service hears far faster than real time; twice is what is taken for granted. */
const ASSUMED_BYTES_PER_MS = (2 * 32_000) / 1_000;

/**
 * How far sending may run ahead of hearing: a service refuses a session that has too much waiting, and says how far it
 * has heard only while somebody speaks. Counts bytes of 16-bit PCM at 16 kHz.
 */
export class SendWindow {
  #heardBytes = 0;
  #sentBytes = 0;
  #atMs: number;

  constructor(nowMs: number) {
    this.#atMs = nowMs;
  }

  roomBytes(nowMs: number): number {
    this.#heard(this.#heardBytes + (nowMs - this.#atMs) * ASSUMED_BYTES_PER_MS);
    this.#atMs = nowMs;
    return Math.max(0, Math.floor(this.#heardBytes + AHEAD_BYTES - this.#sentBytes));
  }

  sent(bytes: number): void {
    this.#sentBytes += bytes;
  }

  /** A result came that ends here, in seconds of this socket's audio. */
  heardUntil(seconds: number): void {
    this.#heard(Math.max(this.#heardBytes, seconds * 32_000));
  }

  #heard(bytes: number): void {
    this.#heardBytes = Math.min(bytes, this.#sentBytes);
  }
}
