import { asServiceError } from "../../core/domain/errors.js";
import type { SpeechChunk, StopReason, SynthesisConversation } from "../../core/ports/conversations.js";
import type { Departure } from "../../core/ports/front.js";
import type { UsageMeter, UsageReference } from "../../core/ports/usage-meter.js";
import { Billing } from "./billing.js";

/** A synthesis that does not know of money. */
export interface UnbilledSynthesis
  extends Omit<SynthesisConversation, "charge" | "creditsCharged" | "sentence" | "answer" | "complete"> {
  /** Billed characters up to the end of each sentence. */
  readonly charactersThrough: readonly number[];
}

/**
 * A synthesis that is paid for: held before the first sentence is spoken, charged before the first audio is queued.
 * A client who leaves after that has paid; what we then fail to deliver is given back.
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
  readonly #session: UnbilledSynthesis;
  readonly #billing: Billing;
  #deliveredSentences = 0;

  constructor(meter: UsageMeter, reference: UsageReference, session: UnbilledSynthesis) {
    this.#billing = new Billing(meter, reference, "synthesis");
    this.#session = session;
  }

  get modelId(): string {
    return this.#session.modelId;
  }

  get billedCharacters(): number {
    return this.#session.billedCharacters;
  }

  get creditsCharged(): number {
    return this.#billing.creditsCharged;
  }

  get sampleRateHz(): number {
    return this.#session.sampleRateHz;
  }

  get mostHeldBytes(): number {
    return this.#session.mostHeldBytes;
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

  /** A reader who asks for more has sent what came before, if audio is sent as it is made. */
  #sentSentence(): void {
    if (!this.#billing.isCharged) return;
    this.#deliveredSentences++;
    this.#billing.noteDelivered(this.#charactersOf(this.#deliveredSentences));
  }

  /** Of so many sentences, counted from the first. */
  #charactersOf(sentences: number): number {
    return this.#session.charactersThrough[sentences - 1] ?? 0;
  }
}
