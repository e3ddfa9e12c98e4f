/** Minimum length of a common piece; shorter ones occur in too many names. */
const SHORTEST_PIECE = 4;
/** Maximum compared length of an untrusted name; none of ours is longer. */
const LONGEST_COMPARED = 40;

/** Returns the known name that was most likely meant; null when none is similar. */
export function nearestName(name: string, known: readonly string[]): string | null {
  const wanted = folded(name);
  let nearest: string | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const full = folded(candidate);
    const isPiece =
      wanted.length >= SHORTEST_PIECE &&
      (full.startsWith(wanted) || candidate.split(/[-_]/).includes(wanted));
    const distance = isPiece ? 1 : editDistance(wanted, full);
    if (distance > (isPiece ? 1 : tolerance(full)) || distance >= least) continue;
    nearest = candidate;
    least = distance;
  }
  return nearest;
}

/** Removes case and separators. */
function folded(name: string): string {
  return name
    .slice(0, LONGEST_COMPARED)
    .toLowerCase()
    .replace(/[-_.\s[\]]/g, "");
}

/** Maximum number of typos in a name of that length. */
function tolerance({ length }: string): number {
  return length <= 4 ? 1 : length <= 9 ? 2 : 3;
}

/** Counts letters to insert, remove, change or swap with their neighbour. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? before[j - 2]! + 1 : Number.POSITIVE_INFINITY;
      row.push(Math.min(changed, swapped, last[j]! + 1, row[j - 1]! + 1));
    }
    before = last;
    last = row;
  }
  return last[b.length]!;
}
