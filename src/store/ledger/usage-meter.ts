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
  UsageMeter,
  UsageReference,
} from "../../../core/ports/usage-meter.js";
import { within } from "../postgres/within.js";
import type { Accounts } from "./accounts.js";
import { type HoldChanges, TooManyAtOnce } from "./hold-changes.js";
import type { HoldJournal } from "./hold-journal.js";
import type { Holds, NewHold } from "./holds.js";
import type { IdempotencyKeys } from "./idempotency-keys.js";
import { LiveHolds, leastLiveCredits } from "./live-holds.js";
import { meteringUnavailable, outOfCredits } from "./metering-errors.js";
import { Places } from "./places.js";
import type { ServiceInstances } from "./service-instances.js";
import { Settlements } from "./settlements.js";
import { SignsOfLife } from "./signs-of-life.js";
import { sweep, sweepOwn } from "./sweep.js";

/** Times in milliseconds. */
export interface MeterRules {
  /** A question that a client waits for. */
  readonly answerMs: number;
  readonly heartbeatMs: number;
  /** A service that gave no sign of life for this long is taken to be gone. */
  readonly silentMs: number;
  readonly journalMs: number;
  /** How long the end of the service waits for settlements. */
  readonly closeMs: number;
}

const DEFAULT_METER_RULES: MeterRules = {
  answerMs: 3_000,
  heartbeatMs: 5_000,
  silentMs: 30_000,
  journalMs: 1_000,
  closeMs: 5_000,
};

/** What one organization may keep in the database of bodies of answers; the rest is made again for nothing. */
const KEPT_BODIES_BYTES = 64 * 2 ** 20;
/** One in a minute. */
const BEATS_PER_CLEARING = 12;

/** However many ask whether the service is ready, this is how often it finds out. */
const WRITE_BELIEVED_MS = 250;

export interface MeterParts {
  readonly accounts: Accounts;
  readonly holds: Holds;
  /** Of this service: what it asks at once goes together. */
  readonly changes: HoldChanges;
  readonly idempotencyKeys: IdempotencyKeys;
  readonly instances: ServiceInstances;
  readonly tariffs: Tariffs;
  /** Of this service alone; closed with the meter. */
  readonly journal: HoldJournal;
  /** What else is done with each sign of life. */
  readonly upkeep?: () => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  readonly rules?: Partial<MeterRules>;
}

/** The id of a service that starts now. */
export function newServiceId(): string {
  return `svc_${randomBytes(12).toString("hex")}`;
}

/** Metering on PostgreSQL: one running service, its signs of life, and its sweep after services that are gone. */
export class PostgresUsageMeter implements UsageMeter {
  readonly serviceId: string;
  readonly #parts: MeterParts;
  readonly #rules: MeterRules;
  readonly #settlements: Settlements;
  readonly #places: Places;
  readonly #liveHolds: LiveHolds;
  /** Ids of holds that were asked for and about which something may still be done. */
  readonly #inWork = new Set<string>();
  #heartbeat: NodeJS.Timeout | null = null;
  readonly #signs: SignsOfLife;
  #beats = 0;
  #lastWrite: { readonly isWritten: Promise<boolean>; atMs: number } | null = null;
  #beating: Promise<void> = Promise.resolve();

  constructor(parts: MeterParts, serviceId: string) {
    this.#parts = parts;
    this.serviceId = serviceId;
    this.#rules = { ...DEFAULT_METER_RULES, ...parts.rules };
    this.#signs = new SignsOfLife(this.#rules.silentMs);
    this.#settlements = new Settlements(parts.log);
    this.#places = new Places(parts.clock);
    this.#liveHolds = new LiveHolds({
      holds: parts.holds,
      changes: parts.changes,
      instances: parts.instances,
      serviceId,
      settlements: this.#settlements,
      places: this.#places,
      journal: parts.journal,
      clock: parts.clock,
      log: parts.log,
      journalMs: this.#rules.journalMs,
      answerMs: this.#rules.answerMs,
    });
  }

  /**
   * Enters the service and settles what services left behind that are gone: `predecessorId` is known to be, and
   * `journaled` is what its journal says.
   */
  async start(predecessorId: string | null, journaled?: ReadonlyMap<string, number>): Promise<void> {
    const { instances, holds, journal, log } = this.#parts;
    await instances.beat(this.serviceId);
    if (predecessorId !== null) await instances.remove(predecessorId);
    this.#signs.silentAmong(await instances.signs(), this.#parts.clock.nowMs());
    const settled = await sweep(holds, journaled);
    if (settled > 0) log.info({ settled }, "holds of services that are gone were settled");
    journal.clear();
    this.#heartbeat = setInterval(() => {
      this.#beating = this.#beat();
    }, this.#rules.heartbeatMs).unref();
  }

  /**
   * Whether the database takes a write in time: one that only answers questions cannot serve anybody. Those who ask at
   * once share one, and for a moment its outcome.
   */
  async canWrite(withinMs: number): Promise<boolean> {
    if (this.#heartbeat === null) return false;
    const nowMs = this.#parts.clock.nowMs();
    if (this.#lastWrite === null || nowMs - this.#lastWrite.atMs > WRITE_BELIEVED_MS) {
      const isWritten = within(withinMs, this.#parts.instances.beat(this.serviceId)).then(
        () => true,
        () => false,
      );
      const write = { isWritten, atMs: Number.POSITIVE_INFINITY };
      this.#lastWrite = write;
      void isWritten.then(() => {
        write.atMs = this.#parts.clock.nowMs();
      });
    }
    return this.#lastWrite.isWritten;
  }

  /** Lets settlements finish, and signs the service off. May be called twice. */
  async close(): Promise<void> {
    if (this.#heartbeat === null) return;
    clearInterval(this.#heartbeat);
    this.#heartbeat = null;
    await this.#beating;
    await this.#liveHolds.close();
    await this.#settlements.close(this.#rules.closeMs);
    this.#parts.journal.close();
    await within(this.#rules.answerMs, this.#parts.instances.remove(this.serviceId)).catch((error) => {
      // The sweep of another service, or our next start, comes to the same end a little later.
      this.#parts.log.warn({ err: error }, "service not signed off");
    });
  }

  async requireCredit(organizationId: string, kind: UsageKind, mostAtOnce?: number): Promise<void> {
    const least = kind === "live" ? leastLiveCredits(this.#parts.tariffs.live) : 1;
    const [balance] = await Promise.all([
      this.#ask(this.#parts.accounts.find(organizationId)),
      mostAtOnce === undefined ? null : this.#ask(this.#requirePlace(organizationId, kind, mostAtOnce)),
    ]);
    const available = balance?.available ?? 0;
    if (available < least) throw outOfCredits(least, available);
  }

  async #requirePlace(organizationId: string, kind: UsageKind, atOnce: number): Promise<void> {
    const { holds } = this.#parts;
    const limit = this.#places.limit(organizationId, atOnce);
    await this.#places.take({ kind, limit }, async () => {
      const inWork = await holds.countInWork(organizationId, kind, limit.over);
      if (inWork >= atOnce) throw new TooManyAtOnce(kind, atOnce);
    });
  }

  async hold(reference: UsageReference, kind: UsageKind, quantity: Quantity): Promise<Hold> {
    const { holds, changes, accounts } = this.#parts;
    const hold = this.#newHold(reference, kind, quantity);
    const credits = creditsFor(quantity, hold.tariff);
    let isHeld: boolean;
    this.#inWork.add(hold.id);
    try {
      isHeld = await this.#ask(this.#places.take(hold, () => changes.open(hold)));
    } catch (error) {
      // It may have been opened all the same.
      if (isRefusal(error)) this.#inWork.delete(hold.id);
      else
        this.#leave(
          hold,
          this.#settlements.settle(hold.id, () => holds.void(hold)),
        );
      throw error;
    }
    if (isHeld) return this.#held(hold, credits);
    this.#inWork.delete(hold.id);
    const balance = await this.#ask(accounts.find(hold.organizationId));
    throw outOfCredits(credits, balance?.available ?? 0);
  }

  openLive(
    reference: UsageReference,
    samplesPerSecond: number,
    onFunds: (funds: LiveFunds) => void,
  ): LiveMeter {
    const hold = this.#newHold(reference, "live", { units: 0, unitsPerSecond: samplesPerSecond });
    this.#inWork.add(hold.id);
    return this.#liveHolds.open(hold, onFunds, () => this.#inWork.delete(hold.id));
  }

  /** The hold's work is over, and with `settled` all that is to be done about it. */
  #leave(hold: NewHold, settled: Promise<unknown>): void {
    this.#places.leave(hold, settled);
    void settled.finally(() => this.#inWork.delete(hold.id));
  }

  #newHold(reference: UsageReference, kind: UsageKind, quantity: Quantity): NewHold {
    const tariff = this.#parts.tariffs[kind];
    const { mostAtOnce, ...rest } = reference;
    const hold = { ...rest, serviceId: this.serviceId, kind, quantity, tariff };
    if (mostAtOnce === undefined) return hold;
    return { ...hold, limit: this.#places.limit(reference.organizationId, mostAtOnce) };
  }

  /** Steps of one hold follow one another, so that a late charge cannot overtake the release after it. */
  #held(hold: NewHold, credits: number): Hold {
    const { holds, changes, journal } = this.#parts;
    const { units } = hold.quantity;
    let last: Promise<unknown> = Promise.resolve();
    const then = async (work: () => Promise<unknown>): Promise<void> => {
      const done = last.then(() => this.#settlements.settle(hold.id, work));
      last = done;
      // A caller that waits for a settlement has work of its own to do: a database that is away must not stop it.
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

  async #beat(): Promise<void> {
    const { instances, holds, idempotencyKeys, log } = this.#parts;
    try {
      await instances.beat(this.serviceId);
      const signs = await instances.signs();
      for (const silent of this.#signs.silentAmong(signs, this.#parts.clock.nowMs()))
        await instances.removeSilent(silent);
      const settled = await sweep(holds);
      if (settled > 0) log.info({ settled }, "holds of services that are gone were settled");
      const forgotten = await sweepOwn(holds, this.serviceId, (id) => this.#inWork.has(id));
      if (forgotten > 0)
        log.error({ forgotten }, "the database has forgotten how holds ended: they are given back");
      await idempotencyKeys.removeExpired();
      await this.#dropBodies();
      await this.#parts.upkeep?.();
    } catch (error) {
      // While the database was away nobody's signs of life arrived: all get the time to give one.
      this.#signs.forget();
      log.warn({ err: error }, "sign of life not written");
    }
  }

  /** Once in a while, for it looks at every key. */
  async #dropBodies(): Promise<void> {
    if (this.#beats++ % BEATS_PER_CLEARING !== 0) return;
    await this.#parts.idempotencyKeys.dropBodiesBeyond(KEPT_BODIES_BYTES);
  }

  /** @throws {ServiceError} `AUTH_UNAVAILABLE` when the database does not answer in time, and refusals */
  async #ask<T>(question: Promise<T>): Promise<T> {
    try {
      return await within(this.#rules.answerMs, question);
    } catch (cause) {
      if (isRefusal(cause)) throw cause;
      this.#parts.log.warn({ err: cause }, "metering not available");
      throw meteringUnavailable(cause);
    }
  }
}

/** An answer of the database, not a failure to ask it. */
function isRefusal(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === "TOO_MANY_REQUESTS";
}
