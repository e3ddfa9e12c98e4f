/** Counts Unicode code points of well-formed text: the unit of prices, limits and positions in a text. */
export function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** Returns the first `count` code points of well-formed text. */
export function firstCodePoints(text: string, count: number): string {
  let end = 0;
  for (let left = count; left > 0 && end < text.length; left--)
    end += text.codePointAt(end)! > 0xffff ? 2 : 1;
  return text.slice(0, end);
}
