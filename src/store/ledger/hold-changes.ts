import type { Sql } from "postgres";
import { creditsFor, type UsageKind } from "../../../core/domain/usage/tariff.js";
import { Batches, BUSY } from "./batches.js";
import { type Cover, type HoldId, type NewHold, retryingConflicts } from "./holds.js";

/** Thrown if the organization already has as many active holds of this kind as it may. */
export class TooManyAtOnce extends Error {
  override readonly name = "TooManyAtOnce";

  constructor(kind: UsageKind, limit: number) {
    super(`${kind} already has ${limit} active holds, the limit`);
  }
}

/** Thrown if the hold was already closed. */
export class HoldIsOver extends Error {
  override readonly name = "HoldIsOver";

  constructor(id: string) {
    super(`hold ${id} is already closed`);
  }
}

type Change = { readonly organizationId: string } & (
  | {
      readonly type: "open";
      readonly hold: NewHold;
      readonly units: number;
      readonly wanted: number;
      readonly least: number;
    }
  | { readonly type: "extend"; readonly id: string; readonly wanted: number }
  | {
      readonly type: "post";
      readonly id: string;
      readonly units: number;
      readonly state: "posted" | "settled";
    }
);

interface Changed {
  readonly outcome:
    | "opened"
    | "known"
    | "over"
    | "too-many"
    | "too-few"
    | "extended"
    | "posted"
    | "closed"
    | "busy";
  readonly covered: number;
  readonly available: number;
  readonly capped: number | null;
}

/**
 * Opens, extends and posts holds for a running service, and batches concurrent changes into one statement.
 * Each change has the effect of a separate statement, and a failure for one organization does not affect
 * others. Like the changes in `Holds`, they are safe to repeat after a lost reply.
 */
export class HoldChanges {
  readonly #sql: Sql;
  readonly #batches: Batches<Change, Changed>;

  constructor(sql: Sql) {
    this.#sql = sql;
    this.#batches = new Batches((changes, isWaiting) =>
      retryingConflicts(() => this.#change(changes, isWaiting)),
    );
  }

  /**
   * Holds the price of `quantity` if the organization can afford it. Also returns true if this hold is
   * already open.
   * @throws {TooManyAtOnce} if the organization's limit is reached
   * @throws {HoldIsOver} if the hold was already closed
   */
  async open(hold: NewHold): Promise<boolean> {
    return (await this.openFor(hold)).isOpen;
  }

  /** Like `open`, but also returns what is left, and the key's cap if that is the limit. */
  async openFor(hold: NewHold): Promise<Cover & { readonly isOpen: boolean }> {
    const credits = creditsFor(hold.quantity, hold.tariff);
    return await this.#open(hold, { units: hold.quantity.units, wanted: credits, least: credits });
  }

  /**
   * Holds the price of `quantity`, or everything that is left if that is at least `leastCredits`. Throws as
   * `open`.
   */
  async openUpTo(hold: NewHold, leastCredits: number): Promise<Cover> {
    const wanted = creditsFor(hold.quantity, hold.tariff);
    const { isOpen: _, ...cover } = await this.#open(hold, { units: 0, wanted, least: leastCredits });
    return cover;
  }

  async #open(
    hold: NewHold,
    price: { readonly units: number; readonly wanted: number; readonly least: number },
  ): Promise<Cover & { readonly isOpen: boolean }> {
    const { organizationId } = hold;
    const opened = await this.#batches.ask({ type: "open", organizationId, hold, ...price });
    if (opened.outcome === "too-many") throw new TooManyAtOnce(hold.kind, hold.limit?.atOnce ?? 0);
    if (opened.outcome === "over") throw new HoldIsOver(hold.id);
    return { isOpen: opened.outcome !== "too-few", ...toCover(opened) };
  }

  /** Like `Holds.extend`. */
  async extend({ id, organizationId }: HoldId, credits: number): Promise<Cover | null> {
    const extended = await this.#batches.ask({ type: "extend", organizationId, id, wanted: credits });
    if (extended.outcome === "closed") return null;
    return toCover(extended);
  }

  /** Like `Holds.post`. */
  async post(
    { id, organizationId }: HoldId,
    units: number,
    state: "posted" | "settled",
  ): Promise<number | null> {
    const posted = await this.#batches.ask({ type: "post", organizationId, id, units, state });
    return posted.outcome === "closed" ? null : posted.covered;
  }

  async #change(changes: readonly Change[], isWaiting: boolean): Promise<(Changed | typeof BUSY)[]> {
    const rows = await this.#sql<(Changed & { readonly nth: number })[]>`
      select nth, outcome, covered, available, capped from change_holds(
        ${this.#sql.json(changes.map(toItem))},
        ${changes.flatMap((change) => (change.type === "open" ? [] : [change.id]))}::text[],
        ${[...new Set(changes.map(({ organizationId }) => organizationId))]}::text[], ${isWaiting})`;
    if (rows.length !== changes.length)
      throw new Error(`${rows.length} answers to ${changes.length} changes of holds`);
    const changed = new Array<Changed | typeof BUSY>(changes.length);
    for (const { nth, ...change } of rows) changed[nth] = change.outcome === "busy" ? BUSY : change;
    return changed;
  }
}

function toCover({ covered, available, capped }: Changed): Cover {
  return { held: covered, available, ...(capped !== null && { cap: capped }) };
}

function toItem(change: Change, nth: number) {
  const common = { nth, change: change.type, organization: change.organizationId };
  if (change.type === "extend") return { ...common, id: change.id, wanted: change.wanted };
  if (change.type === "post") {
    const { id, units, state } = change;
    return { ...common, id, units, state };
  }
  const { id, serviceId, kind, quantity, tariff, origin, limit } = change.hold;
  return {
    ...common,
    id,
    service: serviceId,
    kind,
    units: change.units,
    per_second: quantity.unitsPerSecond,
    credits: tariff.credits,
    per_units: tariff.perUnits,
    key: origin?.keyId ?? null,
    endpoint: origin?.endpoint ?? null,
    wanted: change.wanted,
    least: change.least,
    at_once: limit?.atOnce ?? null,
    over: [...(limit?.over ?? [])],
  };
}
