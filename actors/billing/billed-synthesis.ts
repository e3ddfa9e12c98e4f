import { asServiceError } from "../../core/domain/errors.js";
import type { SpeechChunk, StopReason, SynthesisConversation } from "../../core/ports/conversations.js";
import type { Departure } from "../../core/ports/front.js";
import type { UsageMeter, UsageReference } from "../../core/ports/usage-meter.js";
import { Billing } from "./billing.js";

/** A synthesis without its billing. */
export interface UnbilledSynthesis
  extends Omit<SynthesisConversation, "charge" | "creditsCharged" | "sentence" | "answer" | "complete"> {
  /** Billed characters from the start of the text to the end of each sentence. */
  readonly charactersThrough: readonly number[];
}

/**
 * Bills a synthesis: credits are held before the first sentence is synthesized and charged before the first
 * audio is queued. A client that leaves later still pays; audio that the service fails to deliver is
 * refunded.
 */
export class BilledSynthesis implements SynthesisConversation {
  readonly sentence: Departure = {
    leaving: () => this.#billing.noteDelivered(this.#charactersOf(this.#deliveredSentences + 1)),
    held: () => this.#billing.noteDelivered(this.#charactersOf(this.#deliveredSentences)),
  };
  readonly answer: Departure = {
    leaving: () => this.#billing.noteDelivered(this.billedCharacters),
    held: () => this.#billing.noteDelivered(0),
  };
  readonly modelId: string;
  readonly billedCharacters: number;
  readonly sampleRateHz: number;
  readonly mostHeldBytes: number;
  readonly #session: UnbilledSynthesis;
  readonly #billing: Billing;
  #deliveredSentences = 0;

  constructor(meter: UsageMeter, reference: UsageReference, session: UnbilledSynthesis) {
    this.#billing = new Billing(meter, reference, "synthesis");
    this.#session = session;
    this.modelId = session.modelId;
    this.billedCharacters = session.billedCharacters;
    this.sampleRateHz = session.sampleRateHz;
    this.mostHeldBytes = session.mostHeldBytes;
  }

  get creditsCharged(): number {
    return this.#billing.creditsCharged;
  }

  async *chunks(): AsyncIterable<SpeechChunk> {
    await this.#billing.hold("synthesis", { units: this.billedCharacters, unitsPerSecond: 1 });
    try {
      for await (const chunk of this.#session.chunks()) {
        yield chunk;
        if (chunk.endsSentence) this.#sentSentence();
      }
    } catch (thrown) {
      this.#end(asServiceError(thrown).code === "CANCELLED" ? "client-left" : "service-stops");
      throw thrown;
    }
  }

  charge(): Promise<void> {
    return this.#billing.charge();
  }

  complete(): void {
    this.#billing.complete();
  }

  stop(reason: StopReason): void {
    this.#end(reason);
    this.#session.stop(reason);
  }

  #end(reason: StopReason): void {
    this.#billing.stop(reason, this.#charactersOf(this.#deliveredSentences));
  }

  /**
   * In a streamed response, the reader's request for the next chunk means that it has sent the previous one.
   */
  #sentSentence(): void {
    if (!this.#billing.isCharged) return;
    this.#deliveredSentences++;
    this.#billing.noteDelivered(this.#charactersOf(this.#deliveredSentences));
  }

  /** Billed characters of the first `sentences` sentences. */
  #charactersOf(sentences: number): number {
    return this.#session.charactersThrough[sentences - 1] ?? 0;
  }
}
