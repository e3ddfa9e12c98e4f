/** What a customer hands in to be credited. */
export interface TopUpOrder {
  readonly organizationId: string;
  readonly userId: string;
  /** A voucher's code; of a payment provider, the id of a payment that it has confirmed. */
  readonly proof: string;
}

/**
 * Where credits are bought. A payment provider fits in here: it checks with its own service that `proof` was paid, and
 * credits it under the payment's id.
 */
export interface TopUps {
  /**
   * Credits what `proof` stands for, once and in one step.
   *
   * @returns the credits, or null when it is unknown, was used, or is too late
   */
  redeem(order: TopUpOrder): Promise<number | null>;
}
