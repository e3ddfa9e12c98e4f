import { LRUCache } from "lru-cache";
import type { Clock } from "../../core/ports/clock.js";
import type { SessionPlace } from "../../core/ports/console-store.js";
import type { KeyIdentity } from "../../core/ports/key-store.js";

/** Far more than the endings within the five minutes for which an authorization is cached. */
const REMEMBERED = 10_000;

/** Timers cannot run for longer than 24.8 days, so long waits are split. */
const LONGEST_TIMER_MS = 24 * 3_600_000;

interface Watcher {
  readonly identity: KeyIdentity;
  readonly onEnd: () => void;
  timer: NodeJS.Timeout | null;
}

/** The secrets of a key that was rotated. */
export interface KeyRotation {
  readonly rotations: number;
  /** When the previous secret expires, by the shared clock. */
  readonly previousUntilMs: number;
}

/**
 * Records which keys, sessions and memberships have ended while the service runs, and when keys expire.
 * Watchers of such a key are notified immediately, and cached or running look-ups of it become invalid. Keys
 * and sessions never come back but users may, so an ending does not affect grants that were looked up later.
 */
export class KeyEndings {
  /** Number of the ending, by name. */
  readonly #ended = new LRUCache<string, number>({ max: REMEMBERED });
  readonly #rotations = new LRUCache<string, KeyRotation>({ max: REMEMBERED });
  readonly #watchers = new Set<Watcher>();
  readonly #clock: Clock;
  #count = 0;

  /** @param clock the shared clock, which determines when keys expire */
  constructor(clock: Clock = { nowMs: Date.now }) {
    this.#clock = clock;
  }

  /** Number of endings so far; a grant that is looked up now stores it as `knownSince`. */
  get count(): number {
    return this.#count;
  }

  endKey(id: string): void {
    this.#end(keyName(id));
  }

  /** Ends everything that uses an expired key. Not recorded, because its expiry date may be changed. */
  expireKey(id: string): void {
    for (const { identity, onEnd } of [...this.#watchers]) if (identity.keyId === id) onEnd();
  }

  /**
   * Ends everything that uses a replaced secret of a key: the previous one when it expires, older ones now.
   */
  rotateKey(id: string, rotation: KeyRotation): void {
    this.#rotations.set(id, rotation);
    for (const watcher of [...this.#watchers]) if (watcher.identity.keyId === id) this.#arm(watcher);
  }

  endSession(session: Buffer): void {
    this.#end(sessionName(session.toString("base64url")));
  }

  endMembership(organizationId: string, userId: string): void {
    this.#end(memberName(organizationId, userId));
  }

  endUser(userId: string): void {
    this.#end(userName(userId));
  }

  /** Called when a session, or its user's membership in the organization, has ended. */
  endPlace({ session, organizationId }: SessionPlace): void {
    this.#end(placeName(session.toString("base64url"), organizationId));
  }

  hasEnded(identity: KeyIdentity): boolean {
    const { keyId, organizationId, grant } = identity;
    if (this.#endOf(identity) <= this.#clock.nowMs()) return true;
    if (grant === undefined) return this.#ended.has(keyName(keyId));
    const { session, userId, knownSince } = grant;
    const names = [
      sessionName(session),
      placeName(session, organizationId),
      userName(userId),
      memberName(organizationId, userId),
    ];
    return names.some((name) => (this.#ended.get(name) ?? 0) > knownSince);
  }

  /** Calls `onEnd` when the key's validity ends. @returns a function that stops watching */
  watch(identity: KeyIdentity, onEnd: () => void): () => void {
    const watcher: Watcher = { identity, onEnd, timer: null };
    this.#watchers.add(watcher);
    this.#arm(watcher);
    return () => {
      if (watcher.timer !== null) clearTimeout(watcher.timer);
      this.#watchers.delete(watcher);
    };
  }

  /** Keys of organizations that are being watched. */
  get watchedKeys(): readonly string[] {
    return distinct(
      this.#watched(({ keyId, grant }) => (grant === undefined ? keyId : null)),
      (id) => id,
    );
  }

  /** Sessions and organizations of playground keys that are being watched. */
  get watchedPlaces(): readonly SessionPlace[] {
    const places = this.#watched(({ organizationId, grant }) =>
      grant === undefined ? null : { session: Buffer.from(grant.session, "base64url"), organizationId },
    );
    return distinct(places, ({ session, organizationId }) => `${session.toString("hex")} ${organizationId}`);
  }

  #watched<T>(of: (identity: KeyIdentity) => T | null): T[] {
    return [...this.#watchers].map(({ identity }) => of(identity)).filter((one) => one !== null);
  }

  /** Schedules the call of a watcher for when its key expires. */
  #arm(watcher: Watcher): void {
    if (watcher.timer !== null) clearTimeout(watcher.timer);
    watcher.timer = null;
    const endMs = this.#endOf(watcher.identity);
    if (endMs === Number.POSITIVE_INFINITY) return;
    const leftMs = endMs - this.#clock.nowMs();
    const waitMs = Math.min(Math.ceil(leftMs), LONGEST_TIMER_MS);
    if (leftMs <= 0) watcher.onEnd();
    else watcher.timer = setTimeout(() => this.#arm(watcher), waitMs).unref();
  }

  /** Returns when the key expires, or the secret with which it was found. */
  #endOf({ keyId, secret = 0, endsAtMs = Number.POSITIVE_INFINITY }: KeyIdentity): number {
    const rotation = this.#rotations.get(keyId);
    if (rotation === undefined || secret >= rotation.rotations) return endsAtMs;
    const isPrevious = secret === rotation.rotations - 1;
    return Math.min(endsAtMs, isPrevious ? rotation.previousUntilMs : Number.NEGATIVE_INFINITY);
  }

  #end(name: string): void {
    this.#ended.set(name, ++this.#count);
    for (const { identity, onEnd } of [...this.#watchers]) if (this.hasEnded(identity)) onEnd();
  }
}

function distinct<T>(all: readonly T[], nameOf: (one: T) => string): readonly T[] {
  return [...new Map(all.map((one) => [nameOf(one), one])).values()];
}

const keyName = (id: string) => `key ${id}`;
const sessionName = (session: string) => `session ${session}`;
const userName = (userId: string) => `user ${userId}`;
const memberName = (organizationId: string, userId: string) => `member ${organizationId} ${userId}`;
const placeName = (session: string, organizationId: string) => `place ${session} ${organizationId}`;
