import type { TimedTranscript } from "../../actors/transcription/session.js";
import type { FileLength } from "../domain/decoding/transcript.js";
import { ServiceError } from "../domain/errors.js";
import type { BilledTranscript, StopReason, TranscriptionConversation } from "../ports/conversations.js";
import type { Departure } from "../ports/front.js";
import type { Hold, UsageMeter, UsageReference } from "../ports/usage-meter.js";

/** A transcription that does not know of money. */
export interface UnbilledTranscription {
  readonly transcript: Promise<TimedTranscript>;
  stop(reason: StopReason): void;
}

/** A file that is paid for: held when its length is known, charged with the result, released on every other way out. */
export class BilledTranscription implements TranscriptionConversation {
  readonly transcript: Promise<BilledTranscript>;
  readonly answer: Departure = { leaving: () => this.#note(this.#units), held: () => this.#note(0) };
  readonly #session: UnbilledTranscription;
  readonly #meter: UsageMeter;
  readonly #reference: UsageReference;
  #hold: Hold | null = null;
  #units = 0;
  #phase: "working" | "charging" | "charged" | "over" = "working";

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
    const phase = this.#phase;
    this.#phase = "over";
    // Nothing has gone out before the charge is written; a client who leaves after that has paid.
    if (phase === "charging") void this.#hold?.refund(0);
    else if (phase === "charged" && reason === "client-left") void this.#hold?.complete();
    else if (phase === "charged") void this.#hold?.refund(0);
    this.#session.stop(reason);
  }

  complete(): void {
    if (this.#phase !== "charged") return;
    this.#phase = "over";
    void this.#hold?.complete();
  }

  /** A getter, for the compiler does not see that the phase changes while something is awaited. */
  get #isOver(): boolean {
    return this.#phase === "over";
  }

  async #holdFor({ sampleCountIn, sampleRateInHz }: FileLength): Promise<void> {
    const quantity = { units: sampleCountIn, unitsPerSecond: sampleRateInHz };
    this.#hold = await this.#meter.hold(this.#reference, "file", quantity);
    this.#units = sampleCountIn;
    if (!this.#isOver) return;
    // Whoever stopped it was answered while we asked: nobody else will release this.
    void this.#hold.release();
    throw cancelled();
  }

  #note(units: number): void {
    if (this.#phase === "charged") this.#hold?.delivered(units);
  }

  async #charged(): Promise<BilledTranscript> {
    try {
      const transcript = await this.#session.transcript;
      if (this.#isOver) throw cancelled();
      this.#phase = "charging";
      await this.#hold?.charge();
      if (this.#isOver) throw cancelled();
      this.#phase = "charged";
      return { ...transcript, creditsCharged: this.#hold?.credits ?? 0 };
    } catch (thrown) {
      void this.#hold?.release();
      throw thrown;
    }
  }
}

function cancelled(): ServiceError {
  return new ServiceError("CANCELLED", "transcription was cancelled");
}
