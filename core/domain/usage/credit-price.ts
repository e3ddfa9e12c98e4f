/** So much money for so many credits: 1 USD for 25,000. */
export interface CreditPrice {
  readonly amount: number;
  readonly credits: number;
  /** ISO 4217. */
  readonly currency: string;
}

/** What credits cost, in units of the currency. For showing: nothing is ever charged in money. */
export function moneyFor(credits: number, { amount, credits: per }: CreditPrice): number {
  return (credits * amount) / per;
}
