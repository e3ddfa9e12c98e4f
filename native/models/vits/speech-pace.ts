/** Share of a new measurement in the estimate. */
const NEW_SHARE = 0.5;
/**
 * Work before a stream's first sound, in seconds; also the minimum for any part, since shorter ones sound
 * worse.
 */
const FIRST_WORK_SECONDS = 0.5;
/** Minimum work for the first sound, if reading and encoding the text took most of the time. */
const LEAST_FIRST_WORK_SECONDS = 0.25;
/** Share of the buffered speech that may play before the next part must arrive. */
const BUFFER_SHARE = 0.8;

/** Measured work, per unit of the graph's input. */
export class WorkPace {
  #secondsPerUnit: number;

  /** @param secondsPerUnit estimate until the first measurement */
  constructor(secondsPerUnit: number) {
    this.#secondsPerUnit = secondsPerUnit;
  }

  learn(units: number, seconds: number): void {
    if (units > 0) this.#secondsPerUnit += NEW_SHARE * (seconds / units - this.#secondsPerUnit);
  }

  unitsIn(seconds: number): number {
    return seconds / this.#secondsPerUnit;
  }
}

/** Playback of a stream: how long the work on its next part may take. */
export class Playback {
  readonly #nowMs: () => number;
  readonly #startedAtMs: number;
  #dryAtMs: number | null;

  /** @param playsFromMs start of this piece's playback; null for immediate playback */
  constructor(playsFromMs: number | null, nowMs: () => number = () => performance.now()) {
    this.#dryAtMs = playsFromMs;
    this.#nowMs = nowMs;
    this.#startedAtMs = nowMs();
  }

  sent(seconds: number): void {
    this.#dryAtMs = Math.max(this.#dryAtMs ?? 0, this.#nowMs()) + 1_000 * seconds;
  }

  get workSeconds(): number {
    const nowMs = this.#nowMs();
    if (this.#dryAtMs === null) {
      const spentSeconds = (nowMs - this.#startedAtMs) / 1_000;
      return Math.max(LEAST_FIRST_WORK_SECONDS, FIRST_WORK_SECONDS - spentSeconds);
    }
    return Math.max(FIRST_WORK_SECONDS, (BUFFER_SHARE * (this.#dryAtMs - nowMs)) / 1_000);
  }
}
