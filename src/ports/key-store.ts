import type { OrganizationTier } from "../domain/usage/concurrency.js";

/** Who a key belongs to. */
export interface KeyIdentity {
  readonly keyId: string;
  readonly organizationId: string;
  /** As it was when the key was looked up. */
  readonly tier: OrganizationTier;
  /** Which of the keys that share a `keyId`: temporary ones all count as one in usage. They are never remembered. */
  readonly grantId?: string;
}

/** Look-up of API keys. Implementations never see or keep the raw key beyond the call. */
export interface KeyStore {
  /**
   * @returns the owner of an active key, or null when it is malformed, unknown or revoked
   * @throws {ServiceError} `AUTH_UNAVAILABLE` when the store cannot be asked
   */
  find(rawKey: string): Promise<KeyIdentity | null>;
}
