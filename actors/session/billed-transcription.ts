import { SpeechError } from "../../src/domain/errors.js";
import type { FileLength } from "../../src/ports/transcriber.js";
import type { Hold, UsageMeter, UsageReference } from "../../src/ports/usage-meter.js";
import type { BilledTranscript, StopReason, TranscriptionConversation } from "./conversation.js";
import type { TimedTranscript } from "./transcription.js";

/** A transcription that does not know of money. */
export interface UnbilledTranscription {
  readonly transcript: Promise<TimedTranscript>;
  stop(reason: StopReason): void;
}

/** A file that is paid for: held when its length is known, charged with the result, released on every other way out. */
export class BilledTranscription implements TranscriptionConversation {
  readonly transcript: Promise<BilledTranscript>;
  readonly #session: UnbilledTranscription;
  readonly #meter: UsageMeter;
  readonly #reference: UsageReference;
  #hold: Hold | null = null;
  #isStopped = false;

  constructor(
    meter: UsageMeter,
    reference: UsageReference,
    start: (onLength: (length: FileLength) => Promise<void>) => UnbilledTranscription,
  ) {
    this.#meter = meter;
    this.#reference = reference;
    this.#session = start((length) => this.#holdFor(length));
    this.transcript = this.#charged();
  }

  stop(reason: StopReason): void {
    this.#isStopped = true;
    this.#session.stop(reason);
  }

  async #holdFor({ sampleCountIn, sampleRateInHz }: FileLength): Promise<void> {
    const quantity = { units: sampleCountIn, unitsPerSecond: sampleRateInHz };
    this.#hold = await this.#meter.hold(this.#reference, "file", quantity);
    if (!this.#isStopped) return;
    // Whoever stopped it was answered while we asked: nobody else will release this.
    void this.#hold.release();
    throw new SpeechError("CANCELLED", "transcription was cancelled");
  }

  async #charged(): Promise<BilledTranscript> {
    try {
      const transcript = await this.#session.transcript;
      await this.#hold?.charge("whole");
      return { ...transcript, creditsCharged: this.#hold?.credits ?? 0 };
    } catch (thrown) {
      void this.#hold?.release();
      throw thrown;
    }
  }
}
