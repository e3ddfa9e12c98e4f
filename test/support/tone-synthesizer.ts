import { ServiceError } from "../../core/domain/errors.js";
import type {
  SpeakOptions,
  SynthesisJob,
  SynthesizedPiece,
  Synthesizer,
} from "../../core/ports/synthesizer.js";
import { type Deferred, deferred } from "./deferred.js";

const RATE_HZ = 24_000;
const SAMPLES_PER_LETTER = 240;

/**
 * Speaks each letter as ten milliseconds of its character code, in two parts. Pieces that contain "ждет"
 * pause in the middle until the test calls `go`; pieces that contain "сбой" fail there.
 */
export class ToneSynthesizer implements Synthesizer {
  /** The texts of all pieces that were started. */
  readonly begun: string[] = [];
  /** The texts of pieces whose listener left. */
  readonly aborted: string[] = [];
  #gate: Deferred<void> = deferred();

  go(): void {
    this.#gate.resolve();
    this.#gate = deferred();
  }

  async speak(job: SynthesisJob, signal: AbortSignal, options: SpeakOptions = {}): Promise<SynthesizedPiece> {
    const { spokenText } = job;
    this.begun.push(spokenText);
    const pcm = toneOf(spokenText);
    const half = pcm.length / 2;
    options.onPcm?.(pcm.subarray(0, half));
    if (spokenText.includes("ждет")) {
      const left = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      await Promise.race([this.#gate.promise, left]);
    }
    if (spokenText.includes("сбой")) throw new ServiceError("WORKER_LOST", "the worker is gone");
    if (signal.aborted) {
      this.aborted.push(spokenText);
      throw new ServiceError("CANCELLED", "cancelled");
    }
    options.onPcm?.(pcm.subarray(half));
    return { pcm, sampleRateHz: RATE_HZ, characterBounds: null };
  }
}

/** The samples of a spoken text. */
export function toneOf(spokenText: string): Int16Array {
  const letters = [...spokenText];
  return Int16Array.from(
    { length: letters.length * SAMPLES_PER_LETTER },
    (_, at) => letters[Math.floor(at / SAMPLES_PER_LETTER)]!.codePointAt(0)!,
  );
}
