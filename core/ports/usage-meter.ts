import type { ServiceError } from "../domain/errors.js";
import type { Quantity, UsageKind } from "../domain/usage/tariff.js";

/** Who is going to pay, and the id that makes the charge happen at most once. */
export interface UsageReference {
  /** Request or session id; never used twice. */
  readonly id: string;
  readonly organizationId: string;
  readonly origin?: UsageOrigin;
  /** Pieces of work of its kind that the organization may have at once, on all services together; without, any number. */
  readonly mostAtOnce?: number;
}

/** Where a piece of work came in: what usage is told apart by. */
export interface UsageOrigin {
  readonly keyId: string;
  /** Path of the interface, such as `/v1/tts`. */
  readonly endpoint: string;
}

/**
 * Credits set aside for one piece of work. It is charged or released, once; whatever comes after that does nothing.
 * When the store is away the wish is kept and carried out later, so none of these fail.
 */
export interface Hold {
  /** What the whole work costs. */
  readonly credits: number;
  /** Charges the whole work; until it is complete this can be taken back. */
  charge(): Promise<void>;
  /** After `charge`: this much has gone out to the client, so that a crash from here on charges for it and no more. Cheap. */
  delivered(units: number): void;
  /** After `charge`: all has gone out, the charge is final. What it promises is kept from its call on, also by a crash. */
  complete(): Promise<void>;
  /** After `charge`: we failed; all but what was delivered is given back. */
  refund(deliveredUnits: number): Promise<void>;
  /** Nothing was delivered: nothing is charged. */
  release(): Promise<void>;
}

/** How much audio a live session may accept in all, and why not more. */
export interface LiveFunds {
  readonly limitSamples: number;
  readonly beyond: ServiceError;
}

/** One live session's meter: credits are held ahead of the audio and charged once for all of it. */
export interface LiveMeter {
  /** Samples accepted so far, in all. Cheap: called for every message. */
  accepted(totalSamples: number): void;
  /**
   * Charges the session once, for all samples it accepted; later calls do nothing. `onCharged` is told the credits, at
   * once or soon.
   */
  settle(totalSamples: number, onCharged: (credits: number) => void): void;
}

export interface UsageMeter {
  /**
   * Refuses an organization that could not begin any work of this kind, or has `mostAtOnce` pieces of it on all services.
   * @throws {ServiceError} `OUT_OF_CREDITS`, `TOO_MANY_REQUESTS`, `AUTH_UNAVAILABLE`
   */
  requireCredit(organizationId: string, kind: UsageKind, mostAtOnce?: number): Promise<void>;
  /**
   * Sets the price of a piece of work aside.
   * @throws {ServiceError} `OUT_OF_CREDITS`, `TOO_MANY_REQUESTS`, `AUTH_UNAVAILABLE`
   */
  hold(reference: UsageReference, kind: UsageKind, quantity: Quantity): Promise<Hold>;
  /** Begins to hold credits for a live session; `onFunds` is told the first limit within seconds, and every change of it. */
  openLive(
    reference: UsageReference,
    samplesPerSecond: number,
    onFunds: (funds: LiveFunds) => void,
  ): LiveMeter;
}
