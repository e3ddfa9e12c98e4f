import type { OrganizationTier } from "../domain/usage/concurrency.js";

/** Who a key belongs to. */
export interface KeyIdentity {
  readonly keyId: string;
  readonly organizationId: string;
  /** As it was when the key was looked up. */
  readonly tier: OrganizationTier;
  /** What a key of the playground stands on; such keys share a `keyId`, and are never remembered. */
  readonly grant?: SessionGrant;
}

/** A person's session in the console, which passes its rights on for minutes. */
interface SessionGrant {
  /** Hash of the session's cookie, in base64url. */
  readonly session: string;
  readonly userId: string;
  /** The number of endings (`KeyEndings`) that this service knew when it asked whether the session was good. */
  readonly knownSince: number;
}

/** Look-up of API keys. Implementations never see or keep the raw key beyond the call. */
export interface KeyStore {
  /**
   * @returns the owner of an active key, or null when it is malformed, unknown or revoked
   * @throws {ServiceError} `AUTH_UNAVAILABLE` when the store cannot be asked
   */
  find(rawKey: string): Promise<KeyIdentity | null>;
}
