import type { ServiceError } from "../domain/errors.js";
import type { Quantity, UsageKind } from "../domain/usage/tariff.js";

/** The payer, and the id under which the charge happens at most once. */
export interface UsageReference {
  /** Request or session id, unique. */
  readonly id: string;
  readonly organizationId: string;
  readonly origin?: UsageOrigin;
  /** Concurrency limit of the organization for this kind of work, over all services; none by default. */
  readonly mostAtOnce?: number;
}

/** The key and the endpoint that started a piece of work, for usage reports. */
export interface UsageOrigin {
  readonly keyId: string;
  /** Path of the interface, such as `/v1/tts`. */
  readonly endpoint: string;
}

/**
 * Credits held for one piece of work. The hold is charged or released once; later calls do nothing. While the
 * store is unreachable, requests to it are retried later, so none of these methods fail.
 */
export interface Hold {
  /** Price of the whole work. */
  readonly credits: number;
  /** Charges the whole work; can be refunded until it is complete. */
  charge(): Promise<void>;
  /** After `charge`: notes the units sent to the client, so that a crash charges for exactly those. Cheap. */
  delivered(units: number): void;
  /** After `charge`: everything was sent and the charge is final from this call on, even after a crash. */
  complete(): Promise<void>;
  /** After `charge`, on our failure: refunds everything that was not delivered. */
  refund(deliveredUnits: number): Promise<void>;
  /** Charges nothing, since nothing was delivered. */
  release(): Promise<void>;
}

/** Maximum audio that a live session may accept in total, and the error beyond that. */
export interface LiveFunds {
  readonly limitSamples: number;
  readonly beyond: ServiceError;
}

/** A live session's meter: holds credits ahead of the audio and charges once for all of it. */
export interface LiveMeter {
  /** Reports the samples accepted so far. Cheap: called for every message. */
  accepted(totalSamples: number): void;
  /**
   * Charges the session once, for all accepted samples; later calls do nothing. `onCharged` receives the
   * credits, immediately or soon.
   */
  settle(totalSamples: number, onCharged: (credits: number) => void): void;
}

/**
 * Meters speech whose text arrives in pieces: holds credits ahead of the audio and charges once for all of
 * it, so that the total is the price of the whole text.
 */
export interface SpeechMeter {
  /**
   * Extends the hold to `characters` in total.
   * @throws {ServiceError} `OUT_OF_CREDITS`, `TOO_MANY_REQUESTS`, `AUTH_UNAVAILABLE`; `CANCELLED` if it is
   * settled meanwhile
   */
  cover(characters: number): Promise<void>;
  /**
   * Records that audio for `characters` in total is about to be sent, so that a crash still charges for it.
   * Cheap.
   */
  delivered(characters: number): void;
  /** Charges once, for `characters` in total, which must be covered; later calls do nothing. */
  settle(characters: number): void;
}

export interface UsageMeter {
  /**
   * Rejects an organization without credits for any work of this kind, or with `mostAtOnce` pieces of it
   * running, and a key whose monthly cap is used up.
   * @throws {ServiceError} `OUT_OF_CREDITS`, `KEY_BUDGET_EXCEEDED`, `TOO_MANY_REQUESTS`, `AUTH_UNAVAILABLE`
   */
  requireCredit(organizationId: string, kind: UsageKind, mostAtOnce?: number, keyId?: string): Promise<void>;
  /**
   * Holds the price of a piece of work.
   * @throws {ServiceError} `OUT_OF_CREDITS`, `KEY_BUDGET_EXCEEDED`, `TOO_MANY_REQUESTS`, `AUTH_UNAVAILABLE`
   */
  hold(reference: UsageReference, kind: UsageKind, quantity: Quantity): Promise<Hold>;
  /** Meters speech; holds nothing until the first `cover`. */
  openSpeech(reference: UsageReference): SpeechMeter;
  /** Starts a live session's hold; `onFunds` receives the first limit within seconds, and every change. */
  openLive(
    reference: UsageReference,
    samplesPerSecond: number,
    onFunds: (funds: LiveFunds) => void,
  ): LiveMeter;
}
