/** Passes of at most `frames` frames share runs of `rows`. */
export interface RowsOfLength {
  readonly frames: number;
  readonly rows: number;
}

/** Smallest ratio of the shortest to the longest pass of a run; the rest is padding. */
const MIN_SHARE = 2 / 3;
/** Padded lengths per octave, for providers that prepare each shape. */
const LENGTHS_PER_OCTAVE = 4;
const SHORTEST_FRAMES = 16;

/** Passes that share a run whose longest has `frames` frames; 1 beyond the table. @param table ascending */
export function rowsOfLength(table: readonly RowsOfLength[], frames: number): number {
  return table.find((entry) => frames <= entry.frames)?.rows ?? 1;
}

/** Largest number of passes in any run. */
export function mostRows(table: readonly RowsOfLength[]): number {
  return Math.max(1, ...table.map(({ rows }) => rows));
}

/**
 * Pure: chooses the passes that share the run of the first one: later ones of about the same length, as many
 * as the table has rows for the longest of them.
 *
 * @param frames length of each pass, at least one
 * @returns their indices, including the first
 */
export function sharedRun(frames: readonly number[], table: readonly RowsOfLength[]): number[] {
  let [shortest = 0] = frames;
  let longest = shortest;
  const run = [0];
  for (let at = 1; at < frames.length; at++) {
    const low = Math.min(shortest, frames[at]!);
    const high = Math.max(longest, frames[at]!);
    if (low < MIN_SHARE * high || run.length >= rowsOfLength(table, high)) continue;
    [shortest, longest] = [low, high];
    run.push(at);
  }
  return run;
}

/** Pure: groups all passes into runs, the longest first, to keep padding low. @returns their indices */
export function sharedRuns(frames: readonly number[], table: readonly RowsOfLength[]): number[][] {
  let left = frames.map((_, at) => at).sort((a, b) => frames[b]! - frames[a]! || a - b);
  const runs: number[][] = [];
  while (left.length > 0) {
    const lengths = left.map((at) => frames[at]!);
    const taken = new Set(sharedRun(lengths, table));
    runs.push(left.filter((_, nth) => taken.has(nth)));
    left = left.filter((_, nth) => !taken.has(nth));
  }
  return runs;
}

/** Padded length of a pass, at most a quarter longer, so that there are few shapes. */
export function paddedFrames(frames: number): number {
  if (frames <= SHORTEST_FRAMES) return SHORTEST_FRAMES;
  const grain = 2 ** Math.floor(Math.log2(frames - 1)) / LENGTHS_PER_OCTAVE;
  return Math.ceil(frames / grain) * grain;
}

/** Padded number of rows in a run. */
export function paddedRows(rows: number): number {
  return 2 ** Math.ceil(Math.log2(rows));
}

/** All shapes of padded runs up to a longest pass. */
export function paddedShapes(
  table: readonly RowsOfLength[],
  longestFrames: number,
): readonly { readonly rows: number; readonly frames: number }[] {
  const shapes = [];
  for (let shortest = 1; shortest <= longestFrames; ) {
    const frames = paddedFrames(shortest);
    const changes = table.map((entry) => entry.frames + 1).filter((at) => at > shortest && at <= frames);
    const most = Math.max(...[shortest, ...changes].map((length) => rowsOfLength(table, length)));
    for (let rows = 1; rows <= paddedRows(most); rows *= 2) shapes.push({ rows, frames });
    shortest = frames + 1;
  }
  return shapes;
}
