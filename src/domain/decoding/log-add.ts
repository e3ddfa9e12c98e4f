/** log(exp(a) + exp(b)), safe for -Infinity. */
export function logAdd(a: number, b: number): number {
  if (a < b) return b + Math.log1p(Math.exp(a - b));
  return b === Number.NEGATIVE_INFINITY ? a : a + Math.log1p(Math.exp(b - a));
}
