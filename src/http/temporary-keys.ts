import { LRUCache } from "lru-cache";
import type { OrganizationTier } from "../../core/domain/usage/concurrency.js";
import type { Clock, SharedClock } from "../../core/ports/clock.js";
import type { SessionPlaces } from "../../core/ports/console-store.js";
import type { KeyIdentity, KeyStore } from "../../core/ports/key-store.js";
import type { KeyEndings } from "./key-endings.js";
import { isCurrent, SignedText } from "./signed-text.js";

export const TEMPORARY_KEY_LIFETIME_S = 600;
const LIFETIME_MS = TEMPORARY_KEY_LIFETIME_S * 1_000;
/** As keys of an organization begin, so that whatever keeps those out of logs and addresses keeps these out as well. */
const PREFIX = "sk-svc-pg-";
/** What usage calls work that was asked for on the console's pages. */
const PLAYGROUND_KEY_ID = "playground";
/** As long as look-ups of other keys are remembered. */
const GOOD_FOR_MS = 30_000;
const OVER_FOR_MS = 5_000;
const REMEMBERED_PLACES = 10_000;

export interface TemporaryKeysParts {
  /** The organizations' own keys. */
  readonly keys: KeyStore;
  /** Of all services on one database. */
  readonly secret: Uint8Array;
  readonly sharedClock: SharedClock;
  readonly clock: Clock;
  readonly places: SessionPlaces;
  readonly endings: KeyEndings;
}

/** Until when, its session, its user, the organization and the tier. */
type Content = readonly [number, string, string, string, OrganizationTier];

interface KnownPlace {
  /** As the grant's; null for one that is over. */
  readonly knownSince: number | null;
  readonly untilMs: number;
}

/**
 * Keys that the playground's pages hold in memory for minutes: they use the interface as everybody does, and nothing of
 * them is stored, here neither. A key says by itself, signed, whose it is; whether its session and membership go on is
 * looked up and believed for half a minute, unless this service is told otherwise. Live sockets end with them.
 */
export class TemporaryKeys implements KeyStore {
  readonly #parts: TemporaryKeysParts;
  readonly #texts: SignedText;
  readonly #places = new LRUCache<string, KnownPlace>({ max: REMEMBERED_PLACES });

  constructor(parts: TemporaryKeysParts) {
    this.#parts = parts;
    this.#texts = new SignedText(PREFIX, parts.secret);
  }

  issue(session: Buffer, userId: string, organization: Pick<KeyIdentity, "organizationId" | "tier">): string {
    const untilMs = Math.floor(this.#parts.sharedClock.nowMs() + LIFETIME_MS);
    const { organizationId, tier } = organization;
    const content: Content = [untilMs, session.toString("base64url"), userId, organizationId, tier];
    return this.#texts.sign(content);
  }

  async find(rawKey: string): Promise<KeyIdentity | null> {
    const { keys, endings } = this.#parts;
    if (this.#texts.isKind(rawKey)) return await this.#findTemporary(rawKey);
    const identity = await keys.find(rawKey);
    // What the store remembers is older than what has ended here.
    return identity !== null && endings.hasEnded(identity) ? null : identity;
  }

  async #findTemporary(rawKey: string): Promise<KeyIdentity | null> {
    const content = this.#texts.read(rawKey) as Content | null;
    if (content === null) return null;
    const [untilMs, session, userId, organizationId, tier] = content;
    if (!isCurrent(untilMs, LIFETIME_MS, this.#parts.sharedClock.nowMs())) return null;
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
    // The answer is as old as the question: what ends while it travels has ended for it.
    const [askedAtMs, count] = [clock.nowMs(), endings.count];
    const isGood = await places.isGood({ session: Buffer.from(session, "base64url"), organizationId });
    const place: KnownPlace = isGood
      ? { knownSince: count, untilMs: askedAtMs + GOOD_FOR_MS }
      : { knownSince: null, untilMs: askedAtMs + OVER_FOR_MS };
    this.#places.set(name, place);
    return place;
  }
}

/** Whether this looks like a key of the playground. */
export function isTemporaryKey(credential: string): boolean {
  return credential.startsWith(PREFIX);
}
