import { LRUCache } from "lru-cache";
import type { SessionPlace } from "../../core/ports/console-store.js";
import type { KeyIdentity } from "../../core/ports/key-store.js";

/** Far more endings than occur in the five minutes for which an authorization is cached. */
const REMEMBERED = 10_000;

interface Watcher {
  readonly identity: KeyIdentity;
  readonly onEnd: () => void;
}

/**
 * Records the ends of keys, and of the sessions and memberships behind playground keys, while the service
 * runs. Watchers of such a key are notified immediately, and cached or in-flight look-ups of it become
 * invalid. A key and a session never return but a user may, so an ending does not affect grants that were
 * looked up later.
 */
export class KeyEndings {
  /** The number of the ending, by name. */
  readonly #ended = new LRUCache<string, number>({ max: REMEMBERED });
  readonly #watchers = new Set<Watcher>();
  #count = 0;

  /** The number of endings so far, and the `knownSince` of a grant looked up now. */
  get count(): number {
    return this.#count;
  }

  endKey(id: string): void {
    this.#end(keyName(id));
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

  /** Either a session or its user's membership in the organization has ended. */
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

  /** Calls `onEnd` when the key ends. @returns a function that stops watching */
  watch(identity: KeyIdentity, onEnd: () => void): () => void {
    const watcher = { identity, onEnd };
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Organizations' keys that are being watched. */
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
