import type { KeyEndpoint } from "../domain/key-limits.js";
import type { OrganizationTier } from "../domain/usage/concurrency.js";

/** The owner of a key. */
export interface KeyIdentity {
  readonly keyId: string;
  readonly organizationId: string;
  /** Tier when the key was looked up. */
  readonly tier: OrganizationTier;
  /** Endpoints that the key is restricted to; all when absent. */
  readonly endpoints?: readonly KeyEndpoint[];
  /** When the key, or the secret by which it was found, expires, by the shared clock. */
  readonly endsAtMs?: number;
  /** How many times the key had been rotated when it got the secret by which it was found; 0 when absent. */
  readonly secret?: number;
  /** The console session behind a playground key; such keys share a `keyId`, and are never cached. */
  readonly grant?: SessionGrant;
}

/** A user's session in the console, which grants its rights to a key for minutes. */
interface SessionGrant {
  /** Hash of the session's cookie, in base64url. */
  readonly session: string;
  readonly userId: string;
  /** Number of revocations (`KeyEndings`) that this service knew of when it checked the session. */
  readonly knownSince: number;
}

/** Looks up API keys; implementations never keep the raw key. */
export interface KeyStore {
  /**
   * @returns the owner of an active key; null when it is malformed, unknown, revoked or expired
   * @throws {ServiceError} `AUTH_UNAVAILABLE` when the store does not answer
   */
  find(rawKey: string): Promise<KeyIdentity | null>;
}
