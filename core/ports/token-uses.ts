import type { KeyIdentity } from "./key-store.js";

/** A token at the moment of its use. */
export interface UsedToken {
  /** 16 random bytes that no other token has. */
  readonly id: Uint8Array;
  /** When it ends by itself, by the shared clock. */
  readonly untilMs: number;
  /** Who it was made for. */
  readonly identity: KeyIdentity;
}

/** Where all services on one database learn whether a token was used before. */
export interface TokenUses {
  /**
   * Uses a token up. Of those who try at once, on any number of services, one succeeds.
   *
   * @returns false when it was used before, or the key that it was made with has ended
   * @throws {ServiceError} `AUTH_UNAVAILABLE`
   */
  use(token: UsedToken): Promise<boolean>;
}
