import { createHash, randomBytes } from "node:crypto";
import type { Clock } from "../ports/clock.js";
import type { SessionPlace, Users } from "../ports/console-store.js";
import type { KeyIdentity, KeyStore } from "../ports/key-store.js";
import type { KeyEndings } from "./key-endings.js";

export const TEMPORARY_KEY_LIFETIME_S = 600;
/** What usage calls work that was asked for on the console's pages. */
const PLAYGROUND_KEY_ID = "playground";
/** Pages of one session that are open at once; the oldest loses its key and asks for another. */
const MOST_PER_SESSION = 10;

interface TemporaryKey {
  readonly name: string;
  readonly identity: KeyIdentity;
  readonly session: Buffer;
  readonly userId: string;
  readonly untilMs: number;
}

/**
 * Keys that the playground's pages hold in memory for minutes: they use the interface as everybody does, and nothing of
 * them is stored, here neither. They end with the session and the membership, and live sockets that they opened with them.
 */
export class TemporaryKeys implements KeyStore {
  readonly #keys: KeyStore;
  readonly #clock: Clock;
  readonly #endings: KeyEndings;
  /** Those that can be used. */
  readonly #byName = new Map<string, TemporaryKey>();
  /** By the session's hash, oldest first: also those that open nothing more, while a live socket works with them. */
  readonly #bySession = new Map<string, TemporaryKey[]>();

  constructor(keys: KeyStore, clock: Clock, endings: KeyEndings) {
    this.#keys = keys;
    this.#clock = clock;
    this.#endings = endings;
  }

  issue(session: Buffer, userId: string, identity: Omit<KeyIdentity, "keyId">): string {
    this.#removeLate();
    const rawKey = `sk-svc-${randomBytes(24).toString("hex")}`;
    const name = nameOf(rawKey);
    const key: TemporaryKey = {
      name,
      identity: { ...identity, keyId: PLAYGROUND_KEY_ID, grantId: name },
      session,
      userId,
      untilMs: this.#clock.nowMs() + TEMPORARY_KEY_LIFETIME_S * 1_000,
    };
    const keys = [...(this.#bySession.get(session.toString("hex")) ?? []), key];
    const usable = keys.filter((other) => other === key || this.#byName.has(other.name));
    for (const late of usable.slice(0, -MOST_PER_SESSION)) this.#byName.delete(late.name);
    this.#bySession.set(session.toString("hex"), keys);
    this.#byName.set(name, key);
    return rawKey;
  }

  async find(rawKey: string): Promise<KeyIdentity | null> {
    const key = this.#byName.get(nameOf(rawKey));
    if (key !== undefined) return key.untilMs > this.#clock.nowMs() ? key.identity : null;
    const identity = await this.#keys.find(rawKey);
    // What the store remembers is older than what has ended here.
    return identity !== null && this.#endings.hasEnded(identity) ? null : identity;
  }

  endSession(session: Buffer): void {
    this.#end((key) => key.session.equals(session));
  }

  /** A person who leaves an organization spends nothing of it any more. */
  endMembership(organizationId: string, userId: string): void {
    this.#end((key) => key.userId === userId && key.identity.organizationId === organizationId);
  }

  /** A person whose sessions are over spends nothing by them any more. */
  endUser(userId: string): void {
    this.#end((key) => key.userId === userId);
  }

  /** Ends keys whose session or membership has ended elsewhere: in another service on the same database, or meanwhile. */
  async endLost(users: Pick<Users, "goodPlaces">): Promise<void> {
    this.#removeLate();
    const keys = [...this.#bySession.values()].flat();
    if (keys.length === 0) return;
    const place = ({ session, identity }: TemporaryKey) => ({
      session,
      organizationId: identity.organizationId,
    });
    const good = new Set((await users.goodPlaces(keys.map(place))).map(placeName));
    const asked = new Set(keys);
    // Keys that were made meanwhile were not asked about.
    this.#end((key) => asked.has(key) && !good.has(placeName(place(key))));
  }

  /** A late key opens nothing more; it is forgotten once nobody works with it. */
  #removeLate(): void {
    const nowMs = this.#clock.nowMs();
    for (const [name, { untilMs }] of this.#byName) if (untilMs <= nowMs) this.#byName.delete(name);
    this.#keep((key) => this.#byName.has(key.name) || this.#endings.isWatched(key.name));
  }

  #end(isOver: (key: TemporaryKey) => boolean): void {
    const over = [...this.#bySession.values()].flat().filter(isOver);
    this.#keep((key) => !isOver(key));
    for (const { name } of over) {
      this.#byName.delete(name);
      this.#endings.end(name);
    }
  }

  #keep(isKept: (key: TemporaryKey) => boolean): void {
    for (const [session, keys] of this.#bySession) {
      const left = keys.filter(isKept);
      if (left.length > 0) this.#bySession.set(session, left);
      else this.#bySession.delete(session);
    }
  }
}

function placeName({ session, organizationId }: SessionPlace): string {
  return `${session.toString("hex")} ${organizationId}`;
}

function nameOf(rawKey: string): string {
  return createHash("sha256").update(rawKey).digest("base64");
}
