import { createHmac, createSecretKey, type KeyObject, randomUUID, timingSafeEqual } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { OrganizationTier } from "../../core/domain/usage/concurrency.js";
import type { Clock, SharedClock } from "../../core/ports/clock.js";
import type { SessionPlaces } from "../../core/ports/console-store.js";
import type { KeyIdentity, KeyStore } from "../../core/ports/key-store.js";
import type { TokenUses } from "../../core/ports/token-uses.js";
import type { KeyEndings } from "./key-endings.js";

/** Our credentials are much shorter. Anything longer is rejected unread. */
export const LONGEST_SIGNED = 1_024;
/** How far the shared clocks of two services may differ. */
const CLOCKS_APART_MS = 10_000;

export const TOKEN_LIFETIME_S = 60;
const TOKEN_LIFETIME_MS = TOKEN_LIFETIME_S * 1_000;
const TOKEN_PREFIX = "st-svc-";

export const TEMPORARY_KEY_LIFETIME_S = 600;
const TEMPORARY_KEY_LIFETIME_MS = TEMPORARY_KEY_LIFETIME_S * 1_000;
/** Starts like organizations' keys, so that filters which keep those out of logs and URLs catch these too. */
const TEMPORARY_KEY_PREFIX = "sk-svc-pg-";
/** The key ID under which usage lists requests from the console's pages. */
const PLAYGROUND_KEY_ID = "playground";
/** As long as look-ups of other keys are cached. */
const VALID_FOR_MS = 30_000;
const INVALID_FOR_MS = 5_000;
const REMEMBERED_PLACES = 10_000;

/**
 * Returns whether a credential with this lifetime is still valid at `nowMs`. A credential with more time left
 * than it was issued with is invalid: the shared clock was set back, and the credential must not last longer.
 */
export function isCurrent(untilMs: number, lifetimeMs: number, nowMs: number): boolean {
  const leftMs = untilMs - nowMs;
  return leftMs > 0 && leftMs <= lifetimeMs + CLOCKS_APART_MS;
}

/** Signs and verifies content that clients carry, so that reading it needs no look-up. */
export class SignedText {
  readonly #prefix: string;
  readonly #secret: KeyObject;

  /** @param secret used only for this kind of text, so that one kind cannot pass for another */
  constructor(prefix: string, secret: Uint8Array) {
    this.#prefix = prefix;
    this.#secret = createSecretKey(secret);
  }

  /** @param content serialized as JSON; anyone who has the text can read it */
  sign(content: readonly unknown[]): string {
    const signed = this.#prefix + Buffer.from(JSON.stringify(content)).toString("base64url");
    return `${signed}.${this.#mac(signed)}`;
  }

  isKind(text: string): boolean {
    return text.startsWith(this.#prefix);
  }

  /** Returns the content, or null if the text was not signed with this secret. */
  read(text: string): readonly unknown[] | null {
    if (text.length > LONGEST_SIGNED || !this.isKind(text)) return null;
    const end = text.lastIndexOf(".");
    if (end === -1) return null;
    const signed = text.slice(0, end);
    const [given, right] = [Buffer.from(text.slice(end + 1)), Buffer.from(this.#mac(signed))];
    if (given.length !== right.length || !timingSafeEqual(given, right)) return null;
    return JSON.parse(Buffer.from(signed.slice(this.#prefix.length), "base64url").toString());
  }

  #mac(signed: string): string {
    return createHmac("sha256", this.#secret).update(signed).digest("base64url");
  }
}

export interface StreamTokensParts {
  readonly secret: Uint8Array;
  readonly clock: SharedClock;
  readonly uses: TokenUses;
  readonly endings: KeyEndings;
}

/**
 * Issues single-use tokens with which browsers open a live socket without knowing the key. A token carries
 * its signed identity and expiry, so any service with the secret can redeem it. The store remembers which
 * tokens were used.
 */
export class StreamTokens {
  readonly #parts: StreamTokensParts;
  readonly #texts: SignedText;

  constructor(parts: StreamTokensParts) {
    this.#parts = parts;
    this.#texts = new SignedText(TOKEN_PREFIX, parts.secret);
  }

  issue(identity: KeyIdentity): string {
    // Node draws UUIDs from a pool of random bytes; drawing only an ID's costs 2.6 µs.
    const id = Buffer.from(randomUUID().replaceAll("-", ""), "hex").toString("base64url");
    return this.#texts.sign([id, Math.floor(this.#parts.clock.nowMs() + TOKEN_LIFETIME_MS), identity]);
  }

  /**
   * Redeems a token and returns its identity; null if it is unknown, expired or used, or its key is no longer
   * valid.
   *
   * @throws {ServiceError} `AUTH_UNAVAILABLE` if the store cannot check whether the token was used
   */
  async redeem(token: string): Promise<KeyIdentity | null> {
    const content = this.#texts.read(token) as readonly [string, number, KeyIdentity] | null;
    if (content === null) return null;
    const { clock, uses, endings } = this.#parts;
    const [id, untilMs, identity] = content;
    if (!isCurrent(untilMs, TOKEN_LIFETIME_MS, clock.nowMs())) return null;
    const known = knownSince(identity, endings.count);
    const isFirst = await uses.use({ id: Buffer.from(id, "base64url"), untilMs, identity });
    return isFirst && !endings.hasEnded(known) ? known : null;
  }
}

/** Redeeming a token checks its key in the store, so endings before that no longer matter. */
export function knownSince(identity: KeyIdentity, count: number): KeyIdentity {
  const { grant } = identity;
  return grant === undefined ? identity : { ...identity, grant: { ...grant, knownSince: count } };
}

export function isToken(credential: string): boolean {
  return credential.startsWith(TOKEN_PREFIX);
}

export interface TemporaryKeysParts {
  readonly keys: KeyStore;
  readonly secret: Uint8Array;
  readonly sharedClock: SharedClock;
  readonly clock: Clock;
  readonly places: SessionPlaces;
  readonly endings: KeyEndings;
}

type TemporaryKeyContent = readonly [
  untilMs: number,
  session: string,
  userId: string,
  organizationId: string,
  tier: OrganizationTier,
];

interface KnownPlace {
  /** `knownSince` of the identity's grant; null if the session or the membership has ended. */
  readonly knownSince: number | null;
  readonly untilMs: number;
}

/**
 * Issues the keys that playground pages hold in memory for minutes, and finds the identity of any key. A
 * playground key carries its signed identity and is not stored. Whether its session and membership still
 * exist is looked up and cached for half a minute, or shorter if this service sees them end. Live sockets
 * opened with the key end with them.
 */
export class TemporaryKeys implements KeyStore {
  readonly #parts: TemporaryKeysParts;
  readonly #texts: SignedText;
  readonly #places = new LRUCache<string, KnownPlace>({ max: REMEMBERED_PLACES });

  constructor(parts: TemporaryKeysParts) {
    this.#parts = parts;
    this.#texts = new SignedText(TEMPORARY_KEY_PREFIX, parts.secret);
  }

  issue(session: Buffer, userId: string, organization: Pick<KeyIdentity, "organizationId" | "tier">): string {
    const untilMs = Math.floor(this.#parts.sharedClock.nowMs() + TEMPORARY_KEY_LIFETIME_MS);
    const { organizationId, tier } = organization;
    const content: TemporaryKeyContent = [
      untilMs,
      session.toString("base64url"),
      userId,
      organizationId,
      tier,
    ];
    return this.#texts.sign(content);
  }

  async find(rawKey: string): Promise<KeyIdentity | null> {
    const { keys, endings } = this.#parts;
    if (this.#texts.isKind(rawKey)) return await this.#findTemporary(rawKey);
    const identity = await keys.find(rawKey);
    // The store's cache may be older than the endings that this service has seen.
    return identity !== null && endings.hasEnded(identity) ? null : identity;
  }

  async #findTemporary(rawKey: string): Promise<KeyIdentity | null> {
    const content = this.#texts.read(rawKey) as TemporaryKeyContent | null;
    if (content === null) return null;
    const [untilMs, session, userId, organizationId, tier] = content;
    if (!isCurrent(untilMs, TEMPORARY_KEY_LIFETIME_MS, this.#parts.sharedClock.nowMs())) return null;
    const identityOf = ({ knownSince }: KnownPlace): KeyIdentity | null =>
      knownSince === null
        ? null
        : { keyId: PLAYGROUND_KEY_ID, organizationId, tier, grant: { session, userId, knownSince } };
    const { clock, endings } = this.#parts;
    const name = `${session} ${organizationId}`;
    const known = this.#places.get(name);
    if (known !== undefined && known.untilMs > clock.nowMs()) {
      const identity = identityOf(known);
      if (identity === null || !endings.hasEnded(identity)) return identity;
    }
    const identity = identityOf(await this.#lookUp(name, { session, organizationId }));
    return identity !== null && endings.hasEnded(identity) ? null : identity;
  }

  async #lookUp(
    name: string,
    { session, organizationId }: { readonly session: string; readonly organizationId: string },
  ): Promise<KnownPlace> {
    const { clock, places, endings } = this.#parts;
    // Use the time before the query, so that sessions that end during it are noticed.
    const [askedAtMs, count] = [clock.nowMs(), endings.count];
    const isValid = await places.isGood({ session: Buffer.from(session, "base64url"), organizationId });
    const place: KnownPlace = isValid
      ? { knownSince: count, untilMs: askedAtMs + VALID_FOR_MS }
      : { knownSince: null, untilMs: askedAtMs + INVALID_FOR_MS };
    this.#places.set(name, place);
    return place;
  }
}

export function isTemporaryKey(credential: string): boolean {
  return credential.startsWith(TEMPORARY_KEY_PREFIX);
}
