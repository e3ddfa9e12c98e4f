/** Counts Unicode code points of well-formed text: the unit of prices, limits and positions in a text. */
export function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
