import type { KeyIdentity } from "./key-store.js";

/** A single-use token that is being used. */
export interface UsedToken {
  /** 16 random bytes. */
  readonly id: Uint8Array;
  /** Expiry by the shared clock. */
  readonly untilMs: number;
  readonly identity: KeyIdentity;
}

/** Used tokens, for all services on one database. */
export interface TokenUses {
  /**
   * Uses up a token. Of simultaneous attempts, on any number of services, one succeeds.
   *
   * @returns false if the token was used before, or its key or that key's secret was revoked or has expired
   * @throws {ServiceError} `AUTH_UNAVAILABLE`
   */
  use(token: UsedToken): Promise<boolean>;
}
