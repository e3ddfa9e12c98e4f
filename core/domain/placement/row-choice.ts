/** Time of one run of so many rows. */
export interface RowTime {
  readonly rows: number;
  readonly ms: number;
}

/** Of the best rate, what fewer rows must give to be taken: they hold up others for less. */
const ENOUGH = 0.9;

/**
 * How many rows pay: the fewest that give nearly the best rate of all that stay within the budget; the fewest there are when
 * none does.
 */
export function chooseRows(times: readonly RowTime[], budgetMs: number): number {
  const sorted = times.toSorted((a, b) => a.rows - b.rows);
  const within = sorted.filter(({ ms }) => ms <= budgetMs);
  const best = Math.max(...within.map(rateOf));
  const chosen = within.find((time) => rateOf(time) >= ENOUGH * best);
  return (chosen ?? sorted[0]!).rows;
}

function rateOf({ rows, ms }: RowTime): number {
  return rows / ms;
}
