/** A customer's order to be credited. */
export interface TopUpOrder {
  readonly organizationId: string;
  readonly userId: string;
  /** A voucher's code, or the id of a payment that the provider has confirmed. */
  readonly proof: string;
}

/**
 * Sells credits. A payment provider implements this interface: it checks with its own service that `proof`
 * was paid, and credits it under the payment's id.
 */
export interface TopUps {
  /**
   * Credits the value of `proof`, once and atomically.
   *
   * @returns the credits, or null when `proof` is unknown, used or expired
   */
  redeem(order: TopUpOrder): Promise<number | null>;
}
