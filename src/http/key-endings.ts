import { LRUCache } from "lru-cache";
import type { SessionPlace } from "../../core/ports/console-store.js";
import type { KeyIdentity } from "../../core/ports/key-store.js";

/** Endings that are remembered: far more than come within the five minutes for which an authorization is reused. */
const REMEMBERED = 10_000;

interface Watcher {
  readonly identity: KeyIdentity;
  readonly tell: () => void;
}

/**
 * What has ended while the service runs: keys, and the sessions and memberships that playground keys stand on. Who works
 * with such a key is told at once, and answers about it that are still remembered somewhere, or on their way, count no more.
 * A key and a session never come back; a person may, so an ending says nothing about grants that were known later.
 */
export class KeyEndings {
  /** By name, the number of the ending. */
  readonly #ended = new LRUCache<string, number>({ max: REMEMBERED });
  readonly #watchers = new Set<Watcher>();
  #count = 0;

  /** How many there were: a grant that was asked about now is known since this number. */
  get count(): number {
    return this.#count;
  }

  endKey(id: string): void {
    this.#end(keyName(id));
  }

  endSession(session: Buffer): void {
    this.#end(sessionName(session.toString("base64url")));
  }

  /** A person who leaves an organization spends nothing of it any more. */
  endMembership(organizationId: string, userId: string): void {
    this.#end(memberName(organizationId, userId));
  }

  /** A person whose sessions are over spends nothing by them any more. */
  endUser(userId: string): void {
    this.#end(userName(userId));
  }

  /** A session has ended, or no longer works in the organization; it is not known which. */
  endPlace({ session, organizationId }: SessionPlace): void {
    this.#end(placeName(session.toString("base64url"), organizationId));
  }

  hasEnded({ keyId, organizationId, grant }: KeyIdentity): boolean {
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

  /** Calls `onEnd` when the key ends. Returns how to stop watching. */
  watch(identity: KeyIdentity, onEnd: () => void): () => void {
    const watcher = { identity, tell: onEnd };
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Keys in use for longer than a request. */
  get watchedKeys(): readonly string[] {
    return distinct(
      this.#watched(({ keyId, grant }) => (grant === undefined ? keyId : null)),
      (id) => id,
    );
  }

  /** Where those work who have a playground key for longer than a request. */
  get watchedPlaces(): readonly SessionPlace[] {
    const places = this.#watched(({ organizationId, grant }) =>
      grant === undefined ? null : { session: Buffer.from(grant.session, "base64url"), organizationId },
    );
    return distinct(places, ({ session, organizationId }) => `${session.toString("hex")} ${organizationId}`);
  }

  #watched<T>(of: (identity: KeyIdentity) => T | null): T[] {
    return [...this.#watchers].map(({ identity }) => of(identity)).filter((one) => one !== null);
  }

  #end(name: string): void {
    this.#ended.set(name, ++this.#count);
    for (const { identity, tell } of [...this.#watchers]) if (this.hasEnded(identity)) tell();
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
