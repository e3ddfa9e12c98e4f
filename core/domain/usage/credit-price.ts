/** Price of credits, such as 1 USD for 25,000. */
export interface CreditPrice {
  readonly amount: number;
  readonly credits: number;
  /** ISO 4217. */
  readonly currency: string;
}

/** Converts credits to money for display; nothing is charged in money. */
export function moneyFor(credits: number, { amount, credits: per }: CreditPrice): number {
  return (credits * amount) / per;
}
