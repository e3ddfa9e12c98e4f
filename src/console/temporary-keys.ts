import { createHash, randomBytes } from "node:crypto";
import type { Clock } from "../ports/clock.js";
import type { KeyIdentity, KeyStore } from "../ports/key-store.js";

export const TEMPORARY_KEY_LIFETIME_S = 600;
/** What usage calls work that was asked for on the console's pages. */
export const PLAYGROUND_KEY_ID = "playground";
/** Pages of one session that are open at once; the oldest loses its key and asks for another. */
const MOST_PER_SESSION = 10;

interface TemporaryKey {
  readonly name: string;
  readonly identity: KeyIdentity;
  readonly userId: string;
  readonly untilMs: number;
}

/**
 * Keys that the playground's pages hold in memory for minutes: they use the interface as everybody does, and nothing of
 * them is stored, here neither. They end with the session.
 */
export class TemporaryKeys implements KeyStore {
  readonly #keys: KeyStore;
  readonly #clock: Clock;
  readonly #byName = new Map<string, TemporaryKey>();
  /** By the session's hash, oldest first. */
  readonly #bySession = new Map<string, TemporaryKey[]>();

  constructor(keys: KeyStore, clock: Clock) {
    this.#keys = keys;
    this.#clock = clock;
  }

  issue(session: Buffer, userId: string, identity: Omit<KeyIdentity, "keyId">): string {
    this.#removeLate();
    const rawKey = `sk-svc-${randomBytes(24).toString("hex")}`;
    const key: TemporaryKey = {
      name: nameOf(rawKey),
      identity: { ...identity, keyId: PLAYGROUND_KEY_ID },
      userId,
      untilMs: this.#clock.nowMs() + TEMPORARY_KEY_LIFETIME_S * 1_000,
    };
    const keys = [...(this.#bySession.get(session.toString("hex")) ?? []), key];
    for (const { name } of keys.splice(0, keys.length - MOST_PER_SESSION)) this.#byName.delete(name);
    this.#bySession.set(session.toString("hex"), keys);
    this.#byName.set(key.name, key);
    return rawKey;
  }

  async find(rawKey: string): Promise<KeyIdentity | null> {
    const key = this.#byName.get(nameOf(rawKey));
    if (key === undefined) return this.#keys.find(rawKey);
    return key.untilMs > this.#clock.nowMs() ? key.identity : null;
  }

  endSession(session: Buffer): void {
    const name = session.toString("hex");
    for (const key of this.#bySession.get(name) ?? []) this.#byName.delete(key.name);
    this.#bySession.delete(name);
  }

  /** Whoever leaves an organization spends nothing of it any more. */
  endMembership(organizationId: string, userId: string): void {
    this.#keep((key) => key.userId !== userId || key.identity.organizationId !== organizationId);
  }

  /** Whoever's sessions are over spends nothing by them any more. */
  endUser(userId: string): void {
    this.#keep((key) => key.userId !== userId);
  }

  #removeLate(): void {
    const nowMs = this.#clock.nowMs();
    this.#keep((key) => key.untilMs > nowMs);
  }

  #keep(isKept: (key: TemporaryKey) => boolean): void {
    for (const [session, keys] of this.#bySession) {
      for (const key of keys) if (!isKept(key)) this.#byName.delete(key.name);
      const left = keys.filter(isKept);
      if (left.length > 0) this.#bySession.set(session, left);
      else this.#bySession.delete(session);
    }
  }
}

function nameOf(rawKey: string): string {
  return createHash("sha256").update(rawKey).digest("base64");
}
