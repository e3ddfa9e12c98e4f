import { ServiceError } from "../../../core/domain/errors.js";
import { creditsFor, type Tariff } from "../../../core/domain/usage/tariff.js";
import type { Log } from "../../../core/observe/log.js";
import type { Clock } from "../../../core/ports/clock.js";
import type { LiveFunds, LiveMeter } from "../../../core/ports/usage-meter.js";
import { within } from "../postgres/within.js";
import type { HoldChanges } from "./hold-changes.js";
import type { HoldJournal } from "./hold-journal.js";
import type { Cover, Holds, NewHold } from "./holds.js";
import { meteringUnavailable, outOfCredits } from "./metering-errors.js";
import type { Places } from "./places.js";
import type { ServiceInstances } from "./service-instances.js";
import type { Settlements } from "./settlements.js";

/** Audio that must be paid for before a session begins. */
const LEAST_SECONDS = 1;
/** Audio that is covered ahead of what was accepted; the backlog that a client may build up at once fits twice. */
const AHEAD_SECONDS = 120;
/** When this little is left of it, the hold is extended. */
const EXTEND_BELOW_SECONDS = 60;
/** Audio that may run ahead of the hold while the store is asked; what is then not covered is not charged. */
const GRACE_SECONDS = 60;
/** After an extension that brought less than asked for, or failed. */
const ASK_AGAIN_MS = 2_000;

/** Credits without which a live session does not begin. */
export function leastLiveCredits(tariff: Tariff): number {
  return creditsFor({ units: LEAST_SECONDS, unitsPerSecond: 1 }, tariff);
}

export interface LiveHoldsParts {
  readonly holds: Holds;
  readonly changes: HoldChanges;
  readonly instances: ServiceInstances;
  readonly serviceId: string;
  readonly settlements: Settlements;
  readonly places: Places;
  readonly journal: HoldJournal;
  readonly clock: Clock;
  readonly log: Log;
  readonly journalMs: number;
  readonly answerMs: number;
}

/**
 * The open live holds of this service. What they accept is journaled twice: message by message in the service's own
 * file, for its next start, and every second in the database, all as one value, for other services.
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

  /** @param onEnded when nothing is to be done about it any more */
  open(hold: NewHold, onFunds: (funds: LiveFunds) => void, onEnded: () => void): LiveHold {
    const live = new LiveHold(hold, this.#parts, onFunds, () => {
      this.#open.delete(live);
      onEnded();
    });
    this.#open.add(live);
    this.#timer ??= setInterval(() => void this.#write(), this.#parts.journalMs).unref();
    return live;
  }

  /** Sessions have ended by now; one that has not is settled for what it accepted. */
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
      // The next second brings newer numbers.
      log.warn({ err: error }, "live audio not journaled");
    } finally {
      this.#isWriting = false;
    }
  }
}

/** One session's rolling hold. */
export class LiveHold implements LiveMeter {
  acceptedSamples = 0;
  readonly #hold: NewHold;
  readonly #parts: LiveHoldsParts;
  readonly #onFunds: (funds: LiveFunds) => void;
  readonly #onEnded: () => void;
  #journaledSamples = 0;
  /** Samples that the hold pays for; null until it is open. */
  #coveredSamples: number | null = null;
  #asking: Promise<void>;
  #isAsking = true;
  #askAgainAtMs = 0;
  /** The last answer was less than what was asked for: there is nothing to run ahead with. */
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
    this.#asking = this.#begin();
  }

  get id(): string {
    return this.#hold.id;
  }

  /** There is an open hold, and something that it has to pay for. */
  get hasUsed(): boolean {
    return this.#coveredSamples !== null && this.acceptedSamples > 0;
  }

  get isDirty(): boolean {
    return this.acceptedSamples > this.#journaledSamples;
  }

  accepted(totalSamples: number): void {
    this.acceptedSamples = totalSamples;
    this.#parts.journal.noteSoon(this.id, totalSamples);
    if (this.#coveredSamples === null || this.#isAsking || this.#isSettled) return;
    const leftSamples = this.#coveredSamples - totalSamples;
    if (leftSamples >= this.#samples(EXTEND_BELOW_SECONDS) || this.#parts.clock.nowMs() < this.#askAgainAtMs)
      return;
    this.#isAsking = true;
    this.#asking = this.#extend();
  }

  journaled(samples: number): void {
    this.#journaledSamples = samples;
  }

  /** The journal found the hold closed: a service that took us to be gone has settled it. */
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
    const charged = this.#asking.then(() =>
      this.#parts.settlements.settle(this.id, () => this.#settle(totalSamples, price)),
    );
    this.#parts.places.leave(this.#hold, charged);
    void charged.finally(this.#onEnded);
    // A client does not wait for a database that is away: the charge follows, and will be this one.
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
    // A post that was carried out although its answer was lost finds the hold closed: the price is the same.
    return (await changes.post(this.#hold, totalSamples, "settled")) ?? price;
  }

  async #begin(): Promise<void> {
    const { changes, places, answerMs, log } = this.#parts;
    const quantity = { ...this.#hold.quantity, units: this.#samples(AHEAD_SECONDS) };
    const least = leastLiveCredits(this.#hold.tariff);
    try {
      const open = () => changes.openUpTo({ ...this.#hold, quantity }, least);
      const cover = await within(answerMs, places.take(this.#hold, open));
      if (cover.held > 0) this.#covered(cover, this.#price(quantity.units));
      else this.#tell(0, outOfCredits(least, cover.available));
    } catch (error) {
      if (error instanceof ServiceError) return this.#tell(0, error);
      log.warn({ err: error, holdId: this.id }, "live hold not opened");
      this.#tell(0, meteringUnavailable());
    } finally {
      this.#isAsking = false;
    }
  }

  async #extend(): Promise<void> {
    const wanted = this.#price(this.acceptedSamples + this.#samples(AHEAD_SECONDS));
    // Until the answer is there the audio may run a little ahead.
    if (!this.#isShort)
      this.#tell(this.#coveredSamples! + this.#samples(GRACE_SECONDS), meteringUnavailable());
    try {
      const cover = await this.#parts.changes.extend(this.#hold, wanted);
      if (cover === null) this.#tell(0, meteringUnavailable());
      else this.#covered(cover, wanted);
    } catch (error) {
      this.#askAgainAtMs = this.#parts.clock.nowMs() + ASK_AGAIN_MS;
      this.#parts.log.warn({ err: error, holdId: this.id }, "live hold not extended");
    } finally {
      this.#isAsking = false;
    }
  }

  #covered({ held, available }: Cover, wanted: number): void {
    const { tariff } = this.#hold;
    const { unitsPerSecond } = this.#hold.quantity;
    this.#coveredSamples = Math.floor((held * unitsPerSecond * tariff.perUnits) / tariff.credits);
    this.#isShort = held < wanted;
    if (this.#isShort) this.#askAgainAtMs = this.#parts.clock.nowMs() + ASK_AGAIN_MS;
    const needed = leastLiveCredits(tariff);
    this.#tell(this.#coveredSamples, outOfCredits(needed, Math.min(available, needed - 1)));
  }

  #tell(limitSamples: number, beyond: ServiceError): void {
    if (!this.#isSettled) this.#onFunds({ limitSamples, beyond });
  }

  #samples(seconds: number): number {
    return seconds * this.#hold.quantity.unitsPerSecond;
  }

  #price(samples: number): number {
    return creditsFor({ ...this.#hold.quantity, units: samples }, this.#hold.tariff);
  }
}
