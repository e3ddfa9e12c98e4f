import { creditsFor, type Quantity, type Tariffs, type UsageKind } from "../../core/domain/usage/tariff.js";
import type { Paid } from "../../core/ports/idempotency.js";
import type { Hold, UsageMeter, UsageReference } from "../../core/ports/usage-meter.js";

/** A hold for work that is already paid for. */
const NOTHING_TO_CHARGE = {
  charge: async () => {},
  delivered: () => {},
  complete: async () => {},
  refund: async () => {},
  release: async () => {},
};

/**
 * Meters repeated work that the client has already paid for, in full or up to some point, and charges only
 * the rest. All charges together never exceed the price of the work, and fall short of it by less than the
 * price of one unit.
 */
export class PrepaidMeter implements UsageMeter {
  readonly #meter: UsageMeter;
  readonly #tariffs: Tariffs;
  readonly #paid: Paid;

  constructor(meter: UsageMeter, tariffs: Tariffs, paid: Paid) {
    this.#meter = meter;
    this.#tariffs = tariffs;
    this.#paid = paid;
  }

  requireCredit: UsageMeter["requireCredit"] = (...args) => this.#meter.requireCredit(...args);
  openSpeech: UsageMeter["openSpeech"] = (...args) => this.#meter.openSpeech(...args);
  openLive: UsageMeter["openLive"] = (...args) => this.#meter.openLive(...args);

  async hold(reference: UsageReference, kind: UsageKind, quantity: Quantity): Promise<Hold> {
    const units = this.#restOf(kind, quantity);
    if (units === 0) return { credits: this.#paid.credits, ...NOTHING_TO_CHARGE };
    const hold = await this.#meter.hold(reference, kind, { ...quantity, units });
    return {
      credits: this.#paid.credits + hold.credits,
      charge: () => hold.charge(),
      delivered: (units) => hold.delivered(this.#restOf(kind, { ...quantity, units })),
      complete: () => hold.complete(),
      refund: (delivered) => hold.refund(this.#restOf(kind, { ...quantity, units: delivered })),
      release: () => hold.release(),
    };
  }

  /** Returns the units of `quantity` that are still to be charged. */
  #restOf(kind: UsageKind, quantity: Quantity): number {
    // A file is charged as a whole.
    if (kind === "file" && this.#paid.isAudioUnknown !== true) return 0;
    const tariff = this.#tariffs[kind];
    const credits = Math.max(0, creditsFor(quantity, tariff) - this.#paid.credits);
    // Each charge is rounded up, so the remaining credits limit the units as well.
    const affordable = Math.floor((credits * tariff.perUnits * quantity.unitsPerSecond) / tariff.credits);
    // The paid samples of a file may have had a different sample rate, so only credits are comparable.
    const unpaid = kind === "file" ? quantity.units : quantity.units - this.#paid.units;
    return Math.max(0, Math.min(unpaid, affordable));
  }
}
