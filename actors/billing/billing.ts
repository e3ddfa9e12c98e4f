import { ServiceError } from "../../core/domain/errors.js";
import type { Quantity, UsageKind } from "../../core/domain/usage/tariff.js";
import type { StopReason } from "../../core/ports/conversations.js";
import type { Hold, UsageMeter, UsageReference } from "../../core/ports/usage-meter.js";

/** State of the payment for a piece of work; `over` once it is settled. */
export type BillingState = "unpaid" | "charging" | "charged" | "over";

export type BillingEvent =
  /** The credits are held. */
  | "held"
  /** The first bytes are about to be sent, so the work must be charged. */
  | "charge"
  /** The charge is written. */
  | "written"
  /** The last byte has been sent. */
  | "completed"
  | StopReason;

/** Action to take on the hold. `refuse` leaves the hold alone, but the work must not continue. */
export type BillingEffect =
  | "none"
  | "charge"
  | "complete"
  | "release"
  | "refund-all"
  | "refund-rest"
  | "refuse";

export interface BillingDecision {
  readonly state: BillingState;
  readonly effect: BillingEffect;
}

function go(state: BillingState, effect: BillingEffect = "none"): BillingDecision {
  return { state, effect };
}

/**
 * Nothing is sent before the charge is written, so work that ends earlier costs nothing. Afterwards a client
 * that leaves pays for all of it, and work that the service fails to deliver is refunded.
 */
const DECISIONS: Record<BillingState, Record<BillingEvent, BillingDecision>> = {
  unpaid: {
    held: go("unpaid"),
    charge: go("charging", "charge"),
    written: go("unpaid"),
    // An answer without audio costs nothing.
    completed: go("over", "release"),
    "client-left": go("over", "release"),
    "service-stops": go("over", "release"),
  },
  charging: {
    held: go("charging"),
    charge: go("charging", "refuse"),
    written: go("charged"),
    completed: go("charging"),
    "client-left": go("over", "refund-all"),
    "service-stops": go("over", "refund-all"),
  },
  charged: {
    held: go("charged"),
    charge: go("charged", "refuse"),
    written: go("charged"),
    completed: go("over", "complete"),
    "client-left": go("over", "complete"),
    "service-stops": go("over", "refund-rest"),
  },
  over: {
    // The client left while the credits were being held, so they must be released here.
    held: go("over", "release"),
    charge: go("over", "refuse"),
    written: go("over", "refuse"),
    completed: go("over"),
    "client-left": go("over"),
    "service-stops": go("over"),
  },
};

/** Pure: decides how an event changes the payment of a piece of work. */
export function decideBilling(state: BillingState, event: BillingEvent): BillingDecision {
  return DECISIONS[state][event];
}

/** The payment for one synthesis or file: held, then charged, then completed, released or refunded. */
export class Billing {
  readonly #meter: UsageMeter;
  readonly #reference: UsageReference;
  readonly #work: string;
  #state: BillingState = "unpaid";
  #hold: Hold | null = null;

  /** @param work the kind of work, for error messages: for example `synthesis` */
  constructor(meter: UsageMeter, reference: UsageReference, work: string) {
    this.#meter = meter;
    this.#reference = reference;
    this.#work = work;
  }

  /** Cost of the work; 0 before it is charged and after it is settled. */
  get creditsCharged(): number {
    return this.#state === "charged" ? (this.#hold?.credits ?? 0) : 0;
  }

  get isCharged(): boolean {
    return this.#state === "charged";
  }

  /**
   * Holds the price.
   * @throws {ServiceError} `CANCELLED` if the work ended meanwhile; `OUT_OF_CREDITS`, `AUTH_UNAVAILABLE`
   */
  async hold(kind: UsageKind, quantity: Quantity): Promise<void> {
    if (this.#state !== "unpaid") throw this.#cancelled();
    this.#hold = await this.#meter.hold(this.#reference, kind, quantity);
    if (this.#tell("held") === "release") throw this.#cancelled();
  }

  /** @throws {ServiceError} `CANCELLED` when the work ended before the charge was written */
  async charge(): Promise<void> {
    this.#tell("charge");
    await this.#hold?.charge();
    this.#tell("written");
  }

  /**
   * Records the total `units` sent so far or about to be sent. Cheap; has no effect unless the work is
   * charged.
   */
  noteDelivered(units: number): void {
    if (this.isCharged) this.#hold?.delivered(units);
  }

  complete(): void {
    this.#tell("completed");
  }

  /**
   * Ends the payment; may be called twice. @param deliveredUnits units that the client received, not refunded
   */
  stop(reason: StopReason, deliveredUnits = 0): void {
    this.#tell(reason, deliveredUnits);
  }

  #tell(event: BillingEvent, deliveredUnits = 0): BillingEffect {
    const { state, effect } = decideBilling(this.#state, event);
    this.#state = state;
    switch (effect) {
      case "refuse":
        throw this.#cancelled();
      case "complete":
        void this.#hold?.complete();
        break;
      case "release":
        void this.#hold?.release();
        break;
      case "refund-all":
        void this.#hold?.refund(0);
        break;
      case "refund-rest":
        void this.#hold?.refund(deliveredUnits);
        break;
      case "charge":
      case "none":
    }
    return effect;
  }

  #cancelled(): ServiceError {
    return new ServiceError("CANCELLED", `${this.#work} was cancelled`);
  }
}
