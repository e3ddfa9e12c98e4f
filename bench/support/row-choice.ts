/** Duration of a run with `rows` rows. */
export interface RowTime {
  readonly rows: number;
  readonly ms: number;
}

/** Share of the best rate at which fewer rows are preferred, because they delay others less. */
const ENOUGH = 0.9;

/**
 * Chooses the fewest rows that come close to the best rate within the budget; the fewest of all if no run is
 * within it.
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
