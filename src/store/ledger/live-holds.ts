import { ServiceError } from "../../../core/domain/errors.js";
import { creditsFor, type Tariff } from "../../../core/domain/usage/tariff.js";
import type { Log } from "../../../core/observe/log.js";
import type { Clock } from "../../../core/ports/clock.js";
import type { LiveFunds, LiveMeter } from "../../../core/ports/usage-meter.js";
import { within } from "../postgres/within.js";
import type { ConcurrencySlots } from "./concurrency-slots.js";
import type { HoldChanges } from "./hold-changes.js";
import type { HoldJournal } from "./hold-journal.js";
import type { Cover, Holds, NewHold } from "./holds.js";
import { meteringUnavailable, notCovered } from "./metering-errors.js";
import type { ServiceInstances } from "./service-instances.js";
import type { Settlements } from "./settlements.js";

/** Audio that must be covered before a session starts. */
const LEAST_SECONDS = 1;
/** Audio to cover beyond what was accepted: twice the largest backlog that a client may send. */
const AHEAD_SECONDS = 120;
/** The hold is extended if less than this is left. */
const EXTEND_BELOW_SECONDS = 60;
/** Audio that may run ahead of the hold while it is extended. What stays uncovered is not charged. */
const GRACE_SECONDS = 60;
/** Pause after an extension that failed or got less than it requested. */
const RETRY_MS = 2_000;

/** Returns the credits that a live session needs to start. */
export function leastLiveCredits(tariff: Tariff): number {
  return creditsFor({ units: LEAST_SECONDS, unitsPerSecond: 1 }, tariff);
}

export interface LiveHoldsParts {
  readonly holds: Holds;
  readonly changes: HoldChanges;
  readonly instances: ServiceInstances;
  readonly serviceId: string;
  readonly settlements: Settlements;
  readonly slots: ConcurrencySlots;
  readonly journal: HoldJournal;
  readonly clock: Clock;
  readonly log: Log;
  readonly journalMs: number;
  readonly answerMs: number;
}

/**
 * Tracks the open live holds of this service. Accepted audio is recorded twice: with every message in the
 * service's own file, for its next start, and once a second in the database, as one value, for other
 * services.
 */
export class LiveHolds {
  readonly #parts: LiveHoldsParts;
  readonly #open = new Set<LiveHold>();
  #timer: NodeJS.Timeout | null = null;
  #isWriting = false;
  #journalCount = 0;

  constructor(parts: LiveHoldsParts) {
    this.#parts = parts;
  }

  /** @param onEnded called when the hold is settled or given up */
  open(hold: NewHold, onFunds: (funds: LiveFunds) => void, onEnded: () => void): LiveHold {
    const live = new LiveHold(hold, this.#parts, onFunds, () => {
      this.#open.delete(live);
      onEnded();
    });
    this.#open.add(live);
    this.#timer ??= setInterval(() => void this.#write(), this.#parts.journalMs).unref();
    return live;
  }

  /** Settles sessions that are still open, for the audio they accepted. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    for (const live of [...this.#open]) live.settle(live.acceptedSamples, () => {});
  }

  async #write(): Promise<void> {
    const used = [...this.#open].filter((live) => live.hasUsed);
    if (this.#isWriting || !used.some((live) => live.isDirty)) return;
    this.#isWriting = true;
    const { instances, serviceId, answerMs, log } = this.#parts;
    const acceptedById = new Map(used.map((live) => [live.id, live.acceptedSamples]));
    const journal = { serviceId, nth: ++this.#journalCount, acceptedById };
    try {
      const { isWritten, closed } = await within(answerMs, instances.journal(journal));
      for (const live of used) {
        if (closed.has(live.id)) live.closedElsewhere();
        else if (isWritten) live.journaled(acceptedById.get(live.id)!);
      }
    } catch (error) {
      log.warn({ err: error }, "live audio not journaled");
    } finally {
      this.#isWriting = false;
    }
  }
}

/** Keeps the hold of one live session ahead of its audio. */
export class LiveHold implements LiveMeter {
  acceptedSamples = 0;
  readonly #hold: NewHold;
  readonly #parts: LiveHoldsParts;
  readonly #onFunds: (funds: LiveFunds) => void;
  readonly #onEnded: () => void;
  #journaledSamples = 0;
  /** Number of samples that the hold covers; null until it is open. */
  #coveredSamples: number | null = null;
  /** The opening of the hold, or its last extension. */
  #request: Promise<void>;
  #isRequesting = true;
  #retryAtMs = 0;
  /** True if the last request got less than it wanted, so there is no grace. */
  #isShort = false;
  #isSettled = false;

  constructor(
    hold: NewHold,
    parts: LiveHoldsParts,
    onFunds: (funds: LiveFunds) => void,
    onEnded: () => void,
  ) {
    this.#hold = hold;
    this.#parts = parts;
    this.#onFunds = onFunds;
    this.#onEnded = onEnded;
    this.#request = this.#openHold();
  }

  get id(): string {
    return this.#hold.id;
  }

  /** Whether there is an open hold with audio to charge for. */
  get hasUsed(): boolean {
    return this.#coveredSamples !== null && this.acceptedSamples > 0;
  }

  get isDirty(): boolean {
    return this.acceptedSamples > this.#journaledSamples;
  }

  accepted(totalSamples: number): void {
    this.acceptedSamples = totalSamples;
    this.#parts.journal.noteSoon(this.id, totalSamples);
    if (this.#coveredSamples === null || this.#isRequesting || this.#isSettled) return;
    const leftSamples = this.#coveredSamples - totalSamples;
    if (leftSamples >= this.#samples(EXTEND_BELOW_SECONDS)) return;
    if (this.#parts.clock.nowMs() < this.#retryAtMs) return;
    this.#isRequesting = true;
    this.#request = this.#extend();
  }

  journaled(samples: number): void {
    this.#journaledSamples = samples;
  }

  /** Ends the session's funds, because another service presumed this one stopped and settled the hold. */
  closedElsewhere(): void {
    this.#journaledSamples = this.acceptedSamples;
    if (this.#isSettled) return;
    this.#parts.log.error({ holdId: this.id }, "live hold was settled by another service");
    this.#onFunds({ limitSamples: 0, beyond: meteringUnavailable() });
  }

  settle(totalSamples: number, onCharged: (credits: number) => void): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.acceptedSamples = totalSamples;
    const price = this.#price(totalSamples);
    const charged = this.#request.then(() =>
      this.#parts.settlements.settle(this.id, () => this.#settle(totalSamples, price)),
    );
    this.#parts.slots.release(this.#hold, charged);
    void charged.finally(this.#onEnded);
    // Clients do not wait for an unreachable database. The charge follows later, at the same price.
    within(this.#parts.answerMs, charged).then(
      (credits) => onCharged(credits ?? price),
      () => onCharged(price),
    );
  }

  async #settle(totalSamples: number, price: number): Promise<number | null> {
    const charged = await this.#charge(totalSamples, price);
    this.#parts.journal.forget(this.id);
    return charged;
  }

  async #charge(totalSamples: number, price: number): Promise<number> {
    const { holds, changes } = this.#parts;
    if (totalSamples === 0 || this.#coveredSamples === null) {
      await holds.void(this.#hold);
      return 0;
    }
    if (totalSamples > this.#coveredSamples) await changes.extend(this.#hold, price);
    // Null means that an earlier attempt charged the same price, but its reply was lost.
    return (await changes.post(this.#hold, totalSamples, "settled")) ?? price;
  }

  async #openHold(): Promise<void> {
    const { changes, slots, answerMs, log } = this.#parts;
    const quantity = { ...this.#hold.quantity, units: this.#samples(AHEAD_SECONDS) };
    const least = leastLiveCredits(this.#hold.tariff);
    try {
      const open = () => changes.openUpTo({ ...this.#hold, quantity }, least);
      const cover = await within(answerMs, slots.acquire(this.#hold, open));
      if (cover.held > 0) this.#covered(cover, this.#price(quantity.units));
      else this.#report(0, notCovered(cover, least));
    } catch (error) {
      if (error instanceof ServiceError) return this.#report(0, error);
      log.warn({ err: error, holdId: this.id }, "live hold not opened");
      this.#report(0, meteringUnavailable());
    } finally {
      this.#isRequesting = false;
    }
  }

  async #extend(): Promise<void> {
    const wanted = this.#price(this.acceptedSamples + this.#samples(AHEAD_SECONDS));
    if (!this.#isShort)
      this.#report(this.#coveredSamples! + this.#samples(GRACE_SECONDS), meteringUnavailable());
    try {
      const cover = await this.#parts.changes.extend(this.#hold, wanted);
      if (cover === null) this.#report(0, meteringUnavailable());
      else this.#covered(cover, wanted);
    } catch (error) {
      this.#retryAtMs = this.#parts.clock.nowMs() + RETRY_MS;
      this.#parts.log.warn({ err: error, holdId: this.id }, "live hold not extended");
    } finally {
      this.#isRequesting = false;
    }
  }

  #covered(cover: Cover, wanted: number): void {
    const { held, available } = cover;
    const { tariff } = this.#hold;
    const { unitsPerSecond } = this.#hold.quantity;
    this.#coveredSamples = Math.floor((held * unitsPerSecond * tariff.perUnits) / tariff.credits);
    this.#isShort = held < wanted;
    if (this.#isShort) this.#retryAtMs = this.#parts.clock.nowMs() + RETRY_MS;
    const needed = leastLiveCredits(tariff);
    const left = Math.min(available, needed - 1);
    this.#report(this.#coveredSamples, notCovered({ ...cover, available: left }, needed));
  }

  #report(limitSamples: number, beyond: ServiceError): void {
    if (!this.#isSettled) this.#onFunds({ limitSamples, beyond });
  }

  #samples(seconds: number): number {
    return seconds * this.#hold.quantity.unitsPerSecond;
  }

  #price(samples: number): number {
    return creditsFor({ ...this.#hold.quantity, units: samples }, this.#hold.tariff);
  }
}
