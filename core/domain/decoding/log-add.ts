/** From this difference on, the smaller number adds less than 2e-14. */
const LIMIT = 32;
const STEPS_PER_UNIT = 32;

/**
 * log(1 + exp(-d)) for d from 0 to 32 as cubics: four coefficients for each 32nd, lowest first, with errors
 * below 3e-10.
 *
 * Runtimes round `Math.exp` and `Math.log1p` differently. With the same table the native search computes
 * bit-identical numbers and so breaks ties alike.
 */
export const LOG_ADD_TABLE = Float64Array.from({ length: LIMIT * STEPS_PER_UNIT * 4 }, (_, i) => {
  const [from, to] = [(i >> 2) / STEPS_PER_UNIT, ((i >> 2) + 1) / STEPS_PER_UNIT];
  const [slopeFrom, slopeTo] = [slopeAt(from) / STEPS_PER_UNIT, slopeAt(to) / STEPS_PER_UNIT];
  const rise = valueAt(to) - valueAt(from);
  return [valueAt(from), slopeFrom, 3 * rise - 2 * slopeFrom - slopeTo, slopeFrom + slopeTo - 2 * rise][
    i & 3
  ]!;
});

/** log(exp(a) + exp(b)), safe for -Infinity. */
export function logAdd(a: number, b: number): number {
  const larger = a < b ? b : a;
  const difference = a < b ? b - a : a - b;
  // Also false for NaN, the difference of two infinities.
  if (!(difference < LIMIT)) return larger;
  const place = difference * STEPS_PER_UNIT;
  const step = Math.floor(place);
  const t = place - step;
  const at = step * 4;
  const table = LOG_ADD_TABLE;
  return larger + (table[at]! + t * (table[at + 1]! + t * (table[at + 2]! + t * table[at + 3]!)));
}

function valueAt(difference: number): number {
  return Math.log1p(Math.exp(-difference));
}

function slopeAt(difference: number): number {
  return -1 / (1 + Math.exp(difference));
}
