/** Passes of up to so many frames share runs of `rows`. */
export interface RowsOfLength {
  readonly frames: number;
  readonly rows: number;
}

/** The shortest pass of a run has at least this share of the longest one's frames: the rest is padding. */
const MIN_SHARE = 2 / 3;
/** Lengths of one octave that runs are padded to, where a provider prepares each shape. */
const LENGTHS_PER_OCTAVE = 4;
const SHORTEST_FRAMES = 16;

/** How many passes share a run whose longest has so many frames; 1 beyond the last length. @param table by rising frames */
export function rowsOfLength(table: readonly RowsOfLength[], frames: number): number {
  return table.find((entry) => frames <= entry.frames)?.rows ?? 1;
}

/** The most passes that any run has. */
export function mostRows(table: readonly RowsOfLength[]): number {
  return Math.max(1, ...table.map(({ rows }) => rows));
}

/**
 * Pure: which passes share the run of the first one: those behind it, in their order, that are about as long, as far as the
 * table has rows for the longest of them.
 *
 * @param frames of each pass, one at least
 * @returns their places, the first among them
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

/** Pure: all passes in runs, the longest first, so that little is padded. @returns places, each in one run */
export function sharedRuns(frames: readonly number[], table: readonly RowsOfLength[]): number[][] {
  let left = frames.map((_, at) => at).sort((a, b) => frames[b]! - frames[a]! || a - b);
  const runs: number[][] = [];
  while (left.length > 0) {
    const taken = new Set(
      sharedRun(
        left.map((at) => frames[at]!),
        table,
      ),
    );
    runs.push(left.filter((_, nth) => taken.has(nth)));
    left = left.filter((_, nth) => !taken.has(nth));
  }
  return runs;
}

/** The length a pass is padded to where shapes are to be few: a quarter more at most. */
export function paddedFrames(frames: number): number {
  if (frames <= SHORTEST_FRAMES) return SHORTEST_FRAMES;
  const grain = 2 ** Math.floor(Math.log2(frames - 1)) / LENGTHS_PER_OCTAVE;
  return Math.ceil(frames / grain) * grain;
}

/** The number of rows that a run is padded to there. */
export function paddedRows(rows: number): number {
  return 2 ** Math.ceil(Math.log2(rows));
}

/** Every shape that padded runs have, up to a longest pass. */
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
