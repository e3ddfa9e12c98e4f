/**
 * Credits that a run may spend. Work reserves its estimated price before it starts, and reports the charged
 * price afterwards, so a run stays within its budget even if responses are missing.
 */
export class Budget {
  readonly #limit: number;
  #reserved = 0;
  #spent = 0;
  #isUsedUp = false;

  /** @param limit in credits; infinite for no limit */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether work was left out because its price exceeded the rest of the budget. */
  get isUsedUp(): boolean {
    return this.#isUsedUp;
  }

  get spent(): number {
    return this.#spent;
  }

  /** Returns false if an estimate does not fit. After that, nothing fits. */
  reserve(estimate: number): boolean {
    if (this.#isUsedUp || this.#spent + this.#reserved + estimate > this.#limit) {
      this.#isUsedUp = true;
      return false;
    }
    this.#reserved += estimate;
    return true;
  }

  /** @param charged null if the response did not report the charge; the estimate then counts */
  settle(estimate: number, charged: number | null): number {
    this.#reserved -= estimate;
    const credits = charged ?? estimate;
    this.#spent += credits;
    return credits;
  }
}
