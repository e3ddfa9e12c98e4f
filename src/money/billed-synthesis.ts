import { asServiceError, ServiceError } from "../domain/errors.js";
import type { SpeechChunk, StopReason, SynthesisConversation } from "../ports/conversations.js";
import type { Departure } from "../ports/front.js";
import type { Hold, UsageMeter, UsageReference } from "../ports/usage-meter.js";

/** A synthesis that does not know of money. */
export interface UnbilledSynthesis
  extends Omit<SynthesisConversation, "charge" | "creditsCharged" | "sentence" | "answer" | "complete"> {
  /** Billed characters up to the end of each sentence. */
  readonly charactersThrough: readonly number[];
}

/**
 * A synthesis that is paid for: held before the first sentence is spoken, charged before the first audio is queued.
 * Whoever leaves after that has paid; what we then fail to deliver is given back.
 */
export class BilledSynthesis implements SynthesisConversation {
  readonly sentence: Departure = {
    leaving: () => this.#note(this.#charactersOf(this.#deliveredSentences + 1)),
    held: () => this.#note(this.#charactersOf(this.#deliveredSentences)),
  };
  readonly answer: Departure = {
    leaving: () => this.#note(this.billedCharacters),
    held: () => this.#note(0),
  };
  readonly #session: UnbilledSynthesis;
  readonly #meter: UsageMeter;
  readonly #reference: UsageReference;
  #hold: Hold | null = null;
  /** `charging` while nothing has gone out yet; `over` once it is decided who pays what. */
  #phase: "held" | "charging" | "charged" | "over" = "held";
  #deliveredSentences = 0;

  constructor(meter: UsageMeter, reference: UsageReference, session: UnbilledSynthesis) {
    this.#meter = meter;
    this.#reference = reference;
    this.#session = session;
  }

  get billedCharacters(): number {
    return this.#session.billedCharacters;
  }

  get creditsCharged(): number {
    return this.#phase === "charged" ? (this.#hold?.credits ?? 0) : 0;
  }

  get sampleRateHz(): number {
    return this.#session.sampleRateHz;
  }

  get mostHeldBytes(): number {
    return this.#session.mostHeldBytes;
  }

  async *chunks(): AsyncIterable<SpeechChunk> {
    await this.#open();
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

  async charge(): Promise<void> {
    if (this.#phase !== "held") throw cancelled();
    this.#phase = "charging";
    await this.#hold?.charge();
    if (this.#isOver) throw cancelled();
    this.#phase = "charged";
  }

  complete(): void {
    // An answer without audio: there was nothing to charge for.
    if (this.#phase === "held") this.#end("service-stops");
    if (this.#phase !== "charged") return;
    this.#phase = "over";
    void this.#hold?.complete();
  }

  stop(reason: StopReason): void {
    this.#end(reason);
    this.#session.stop(reason);
  }

  async #open(): Promise<void> {
    if (this.#phase !== "held") throw cancelled();
    const quantity = { units: this.billedCharacters, unitsPerSecond: 1 };
    const hold = await this.#meter.hold(this.#reference, "synthesis", quantity);
    this.#hold = hold;
    if (this.#isOver) {
      void hold.release();
      throw cancelled();
    }
  }

  /** A getter, for the compiler does not see that the phase changes while a hold is awaited. */
  get #isOver(): boolean {
    return this.#phase === "over";
  }

  #end(reason: StopReason): void {
    const phase = this.#phase;
    this.#phase = "over";
    if (phase === "held") void this.#hold?.release();
    else if (phase === "charging") void this.#hold?.refund(0);
    else if (phase === "charged" && reason === "client-left") void this.#hold?.complete();
    else if (phase === "charged") void this.#hold?.refund(this.#charactersOf(this.#deliveredSentences));
  }

  /** Whoever asks for more has sent what came before, if audio is sent as it is made. */
  #sentSentence(): void {
    if (this.#phase !== "charged") return;
    this.#deliveredSentences++;
    this.#note(this.#charactersOf(this.#deliveredSentences));
  }

  #note(characters: number): void {
    if (this.#phase === "charged") this.#hold?.delivered(characters);
  }

  /** Of so many sentences, counted from the first. */
  #charactersOf(sentences: number): number {
    return this.#session.charactersThrough[sentences - 1] ?? 0;
  }
}

function cancelled(): ServiceError {
  return new ServiceError("CANCELLED", "synthesis was cancelled");
}
