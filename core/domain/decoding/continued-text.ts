/**
 * Makes a later transcript of the same audio start with `promised`, which the client has already received:
 * replaces the words of `text` that differ least from it.
 */
export function continuedText(promised: string, text: string): string {
  if (text.startsWith(promised)) return text;
  const end = nearestPrefix(promised, text);
  const rest = text.slice(end).trimStart();
  return rest === "" ? promised : `${promised} ${rest}`;
}

/** Finds the end of the first words of `text` that differ least from `promised`, the latest among equals. */
function nearestPrefix(promised: string, text: string): number {
  // Levenshtein distances of the promise so far to every prefix of the text.
  let row = Array.from({ length: text.length + 1 }, (_, length) => length);
  for (let read = 1; read <= promised.length; read++) {
    const next = [read];
    for (let length = 1; length <= text.length; length++) {
      const isSame = promised[read - 1] === text[length - 1];
      const replaced = row[length - 1]! + (isSame ? 0 : 1);
      next.push(Math.min(replaced, row[length]! + 1, next[length - 1]! + 1));
    }
    row = next;
  }
  let best = 0;
  for (let length = 1; length <= text.length; length++) {
    const endsWord = length === text.length || text[length] === " ";
    if (endsWord && row[length]! <= row[best]!) best = length;
  }
  return best;
}
