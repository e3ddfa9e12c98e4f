import type { BilledTranscript, FileLength, TimedTranscript } from "../../core/domain/decoding/transcript.js";
import type { StopReason, TranscriptionConversation } from "../../core/ports/conversations.js";
import type { Departure } from "../../core/ports/front.js";
import type { UsageMeter, UsageReference } from "../../core/ports/usage-meter.js";
import { Billing } from "./billing.js";

/** A transcription without its billing. */
export interface UnbilledTranscription {
  readonly transcript: Promise<TimedTranscript>;
  stop(reason: StopReason): void;
}

/**
 * Bills a file: holds credits once its length is known, charges them with the result, or else releases them.
 */
export class BilledTranscription implements TranscriptionConversation {
  readonly transcript: Promise<BilledTranscript>;
  readonly answer: Departure = {
    leaving: () => this.#billing.noteDelivered(this.#units),
    held: () => this.#billing.noteDelivered(0),
  };
  readonly #session: UnbilledTranscription;
  readonly #billing: Billing;
  #units = 0;
  #charge: Promise<void> | null = null;

  /** @param start starts the work; it reports the length first, and fails if `onLength` fails */
  constructor(
    meter: UsageMeter,
    reference: UsageReference,
    start: (onLength: (length: FileLength) => Promise<void>) => UnbilledTranscription,
  ) {
    this.#billing = new Billing(meter, reference, "transcription");
    this.#session = start((length) => this.#holdFor(length));
    this.transcript = this.#charged();
    // The client may leave before anyone awaits the result.
    this.transcript.catch(() => {});
  }

  charge(): Promise<void> {
    this.#charge ??= this.#billing.charge();
    return this.#charge;
  }

  stop(reason: StopReason): void {
    this.#billing.stop(reason);
    this.#session.stop(reason);
  }

  complete(): void {
    this.#billing.complete();
  }

  async #holdFor({ sampleCountIn, sampleRateInHz, channelCount = 1 }: FileLength): Promise<void> {
    this.#units = sampleCountIn * channelCount;
    await this.#billing.hold("file", { units: this.#units, unitsPerSecond: sampleRateInHz });
  }

  async #charged(): Promise<BilledTranscript> {
    try {
      const transcript = await this.#session.transcript;
      await this.charge();
      return { ...transcript, creditsCharged: this.#billing.creditsCharged };
    } catch (thrown) {
      this.#billing.stop("service-stops");
      throw thrown;
    }
  }
}
