import { randomBytes } from "node:crypto";
import { ServiceError } from "../../../core/domain/errors.js";
import {
  creditsFor,
  type Quantity,
  type Tariffs,
  type UsageKind,
} from "../../../core/domain/usage/tariff.js";
import type { Log } from "../../../core/observe/log.js";
import type { Clock } from "../../../core/ports/clock.js";
import type {
  Hold,
  LiveFunds,
  LiveMeter,
  SpeechMeter,
  UsageMeter,
  UsageReference,
} from "../../../core/ports/usage-meter.js";
import { ANSWER_MS, succeedsWithin, within } from "../postgres/within.js";
import type { Accounts } from "./accounts.js";
import { ConcurrencySlots } from "./concurrency-slots.js";
import { HeartbeatMonitor } from "./heartbeat-monitor.js";
import { type HoldChanges, TooManyAtOnce } from "./hold-changes.js";
import type { HoldJournal } from "./hold-journal.js";
import type { Holds, NewHold } from "./holds.js";
import type { IdempotencyKeys } from "./idempotency-keys.js";
import { LiveHolds, leastLiveCredits } from "./live-holds.js";
import { keyBudgetExceeded, meteringUnavailable, notCovered, outOfCredits } from "./metering-errors.js";
import type { ServiceInstances } from "./service-instances.js";
import { Settlements } from "./settlements.js";
import { SpeechHold } from "./speech-hold.js";
import { sweep, sweepOwn } from "./sweep.js";

const DEFAULT_RULES = {
  /** Time that a client's request waits for the database. */
  answerMs: ANSWER_MS,
  heartbeatMs: 5_000,
  /** A service that sends no heartbeat for this long counts as stopped. */
  silentMs: 30_000,
  journalMs: 1_000,
  /** Time that shutdown waits for settlements. */
  closeMs: 5_000,
};

export type MeterRules = Readonly<typeof DEFAULT_RULES>;

/**
 * Size of the response bodies that an organization may keep in the database. Dropped ones are produced again
 * for free.
 */
const KEPT_BODIES_BYTES = 64 * 2 ** 20;
/** Drops bodies once a minute. */
const HEARTBEATS_PER_DROP = 12;

/** Time for which the result of a test write is reused, however many readiness checks arrive. */
const TEST_WRITE_VALID_MS = 250;

export interface MeterParts {
  readonly accounts: Accounts;
  readonly holds: Holds;
  /** Not shared with other services, since it batches changes. */
  readonly changes: HoldChanges;
  readonly idempotencyKeys: IdempotencyKeys;
  readonly instances: ServiceInstances;
  readonly tariffs: Tariffs;
  /** Not shared with other services; closed with the meter. */
  readonly journal: HoldJournal;
  /** Runs with each heartbeat. */
  readonly upkeep?: () => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  readonly rules?: Partial<MeterRules>;
}

export function newServiceId(): string {
  return `svc_${randomBytes(12).toString("hex")}`;
}

/** Meters usage for one running service, sends its heartbeats, and settles holds of stopped services. */
export class PostgresUsageMeter implements UsageMeter {
  readonly serviceId: string;
  readonly #parts: MeterParts;
  readonly #rules: MeterRules;
  readonly #settlements: Settlements;
  readonly #slots: ConcurrencySlots;
  readonly #liveHolds: LiveHolds;
  /** IDs of holds, from before they are opened until their end is written. */
  readonly #active = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  readonly #monitor: HeartbeatMonitor;
  #heartbeats = 0;
  #lastWrite: { readonly isWritten: Promise<boolean>; atMs: number } | null = null;
  #lastHeartbeat: Promise<void> = Promise.resolve();

  constructor(parts: MeterParts, serviceId: string) {
    this.#parts = parts;
    this.serviceId = serviceId;
    this.#rules = { ...DEFAULT_RULES, ...parts.rules };
    this.#monitor = new HeartbeatMonitor(this.#rules.silentMs);
    this.#settlements = new Settlements(parts.log);
    this.#slots = new ConcurrencySlots(parts.clock);
    this.#liveHolds = new LiveHolds({
      ...parts,
      ...this.#rules,
      serviceId,
      settlements: this.#settlements,
      slots: this.#slots,
    });
  }

  /**
   * Registers the service and settles holds of stopped services.
   *
   * @param predecessorId ID of a service that is known to have stopped
   * @param journaled units by hold, from that service's journal
   */
  async start(predecessorId: string | null, journaled?: ReadonlyMap<string, number>): Promise<void> {
    const { instances, holds, journal, log } = this.#parts;
    await instances.heartbeat(this.serviceId);
    if (predecessorId !== null) await instances.remove(predecessorId);
    this.#monitor.silentAmong(await instances.heartbeats(), this.#parts.clock.nowMs());
    const settled = await sweep(holds, journaled);
    if (settled > 0) log.info({ settled }, "holds of stopped services settled");
    journal.clear();
    this.#timer = setInterval(() => {
      this.#lastHeartbeat = this.#heartbeat();
    }, this.#rules.heartbeatMs).unref();
  }

  /**
   * Resolves to whether the database accepts a write within `withinMs`: a database that only answers queries
   * cannot serve clients. Concurrent checks share one write, and its result is reused for a moment.
   */
  async canWrite(withinMs: number): Promise<boolean> {
    if (this.#timer === null) return false;
    const nowMs = this.#parts.clock.nowMs();
    if (this.#lastWrite === null || nowMs - this.#lastWrite.atMs > TEST_WRITE_VALID_MS) {
      const isWritten = succeedsWithin(withinMs, this.#parts.instances.heartbeat(this.serviceId));
      const write = { isWritten, atMs: Number.POSITIVE_INFINITY };
      this.#lastWrite = write;
      void isWritten.then(() => {
        write.atMs = this.#parts.clock.nowMs();
      });
    }
    return this.#lastWrite.isWritten;
  }

  /** Waits for settlements, and removes the service's registration. May be called twice. */
  async close(): Promise<void> {
    if (this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
    await this.#lastHeartbeat;
    await this.#liveHolds.close();
    await this.#settlements.close(this.#rules.closeMs);
    this.#parts.journal.close();
    await within(this.#rules.answerMs, this.#parts.instances.remove(this.serviceId)).catch((error) => {
      // Another service's sweep or our next start will do the same a little later.
      this.#parts.log.warn({ err: error }, "could not remove the service registration");
    });
  }

  async requireCredit(
    organizationId: string,
    kind: UsageKind,
    mostAtOnce?: number,
    keyId?: string,
  ): Promise<void> {
    const least = kind === "live" ? leastLiveCredits(this.#parts.tariffs.live) : 1;
    const [balance, budget] = await Promise.all([
      this.#ask(this.#parts.accounts.find(organizationId)),
      keyId === undefined ? null : this.#ask(this.#parts.holds.keyBudget(keyId)),
      mostAtOnce === undefined ? null : this.#ask(this.#requireSlot(organizationId, kind, mostAtOnce)),
    ]);
    const available = balance?.available ?? 0;
    if (available < least) throw outOfCredits(least, available);
    if (budget !== null && budget.left < least) throw keyBudgetExceeded({ ...budget, needed: least });
  }

  async #requireSlot(organizationId: string, kind: UsageKind, atOnce: number): Promise<void> {
    const { holds } = this.#parts;
    const limit = this.#slots.limit(organizationId, atOnce);
    await this.#slots.acquire({ kind, limit }, async () => {
      const inWork = await holds.countInWork(organizationId, kind, limit.over);
      if (inWork >= atOnce) throw new TooManyAtOnce(kind, atOnce);
    });
  }

  async hold(reference: UsageReference, kind: UsageKind, quantity: Quantity): Promise<Hold> {
    const { holds, changes } = this.#parts;
    const hold = this.#newHold(reference, kind, quantity);
    const credits = creditsFor(quantity, hold.tariff);
    let opened: Awaited<ReturnType<HoldChanges["openFor"]>>;
    this.#active.add(hold.id);
    try {
      opened = await this.#ask(this.#slots.acquire(hold, () => changes.openFor(hold)));
    } catch (error) {
      if (isRejection(error)) this.#active.delete(hold.id);
      else {
        // The hold may have been opened although the reply did not arrive.
        const voided = this.#settlements.settle(hold.id, () => holds.void(hold));
        this.#leave(hold, voided);
      }
      throw error;
    }
    if (opened.isOpen) return this.#held(hold, credits);
    this.#active.delete(hold.id);
    throw notCovered(opened, credits);
  }

  openSpeech(reference: UsageReference): SpeechMeter {
    const hold = this.#newHold(reference, "synthesis", { units: 0, unitsPerSecond: 1 });
    this.#active.add(hold.id);
    return new SpeechHold(hold, {
      ...this.#parts,
      settlements: this.#settlements,
      slots: this.#slots,
      ask: (question) => this.#ask(question),
      onEnded: () => this.#active.delete(hold.id),
    });
  }

  openLive(
    reference: UsageReference,
    samplesPerSecond: number,
    onFunds: (funds: LiveFunds) => void,
  ): LiveMeter {
    const hold = this.#newHold(reference, "live", { units: 0, unitsPerSecond: samplesPerSecond });
    this.#active.add(hold.id);
    return this.#liveHolds.open(hold, onFunds, () => this.#active.delete(hold.id));
  }

  /** Frees the hold's slot now. Forgets the hold when `settled` settles. */
  #leave(hold: NewHold, settled: Promise<unknown>): void {
    this.#slots.release(hold, settled);
    void settled.finally(() => this.#active.delete(hold.id));
  }

  #newHold(reference: UsageReference, kind: UsageKind, quantity: Quantity): NewHold {
    const tariff = this.#parts.tariffs[kind];
    const { mostAtOnce, ...rest } = reference;
    const hold = { ...rest, serviceId: this.serviceId, kind, quantity, tariff };
    if (mostAtOnce === undefined) return hold;
    return { ...hold, limit: this.#slots.limit(reference.organizationId, mostAtOnce) };
  }

  /** Runs the steps of one hold in order, so that a delayed charge cannot overtake the release after it. */
  #held(hold: NewHold, credits: number): Hold {
    const { holds, changes, journal } = this.#parts;
    const { units } = hold.quantity;
    let last: Promise<unknown> = Promise.resolve();
    const then = async (work: () => Promise<unknown>): Promise<void> => {
      const done = last.then(() => this.#settlements.settle(hold.id, work));
      last = done;
      // An unreachable database must not delay the caller, which has a response to finish.
      await within(this.#rules.answerMs, done).catch(() => {});
    };
    const leave = (work: () => Promise<unknown>): Promise<void> => {
      const done = then(work);
      this.#leave(hold, last);
      return done;
    };
    const finish = (work: () => Promise<unknown>) =>
      leave(async () => {
        await work();
        journal.forget(hold.id);
      });
    return {
      credits,
      charge: () => then(() => changes.post(hold, units, "posted")),
      delivered: (deliveredUnits) => journal.note(hold.id, deliveredUnits),
      complete: () => {
        journal.note(hold.id, units);
        return finish(() => holds.complete(hold.id));
      },
      refund: (deliveredUnits) => {
        journal.note(hold.id, deliveredUnits);
        return finish(() => holds.refund(hold.id, deliveredUnits));
      },
      release: () => leave(() => holds.void(hold)),
    };
  }

  async #heartbeat(): Promise<void> {
    const { instances, holds, idempotencyKeys, log } = this.#parts;
    try {
      await instances.heartbeat(this.serviceId);
      const heartbeats = await instances.heartbeats();
      for (const silent of this.#monitor.silentAmong(heartbeats, this.#parts.clock.nowMs()))
        await instances.removeSilent(silent);
      const settled = await sweep(holds);
      if (settled > 0) log.info({ settled }, "holds of stopped services settled");
      const forgotten = await sweepOwn(holds, this.serviceId, (id) => this.#active.has(id));
      if (forgotten > 0)
        log.error({ forgotten }, "the database has lost the ends of some holds; they are released");
      await idempotencyKeys.removeExpired();
      // Only rarely, because it reads every key.
      if (this.#heartbeats++ % HEARTBEATS_PER_DROP === 0)
        await idempotencyKeys.dropBodiesBeyond(KEPT_BODIES_BYTES);
      await this.#parts.upkeep?.();
    } catch (error) {
      // No heartbeat arrived while the database was unreachable, so give every service time to send one.
      this.#monitor.reset();
      log.warn({ err: error }, "heartbeat not written");
    }
  }

  /** @throws {ServiceError} `AUTH_UNAVAILABLE` if the database does not answer in time; also rejections */
  async #ask<T>(question: Promise<T>): Promise<T> {
    try {
      return await within(this.#rules.answerMs, question);
    } catch (cause) {
      if (isRejection(cause)) throw cause;
      this.#parts.log.warn({ err: cause }, "metering not available");
      throw meteringUnavailable(cause);
    }
  }
}

const REJECTIONS = ["TOO_MANY_REQUESTS", "OUT_OF_CREDITS", "KEY_BUDGET_EXCEEDED"];

/** Returns true if an error is the database's response, not a failure to reach it. */
function isRejection(error: unknown): error is ServiceError {
  return error instanceof ServiceError && REJECTIONS.includes(error.code);
}
