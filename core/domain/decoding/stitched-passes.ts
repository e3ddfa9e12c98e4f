import { bestToken } from "./greedy.js";

/** The part of the audio that one pass of a model covers, in samples. */
export interface Pass {
  readonly startSample: number;
  readonly endSample: number;
}

export interface PassLimits {
  /** The longest pass. */
  readonly longestSamples: number;
  /** Minimum overlap of two passes, less than half of the longest. */
  readonly overlapSamples: number;
  /** Samples of one row of log-probs; passes start at a row. */
  readonly rowSamples: number;
}

/** Consecutive rows of log-probs; the first is row `startRow` of the whole. */
export interface PassRows {
  readonly startRow: number;
  /** `[rows, width]`, natural log */
  readonly logProbs: Float32Array;
  readonly rows: number;
}

const BLANK = 0;
/** Rows on both sides of a seam, half a second at 40 ms, that must match one of the two passes. */
const NEIGHBOUR_ROWS = 12;
/** Rows around a seam that should be silent in both passes. */
const GAP_ROWS = 2;

/** Covers the audio with as few passes as possible, equally long and in order. */
export function passesOver(sampleCount: number, limits: PassLimits): Pass[] {
  const { longestSamples, overlapSamples, rowSamples } = limits;
  if (sampleCount <= longestSamples) return [{ startSample: 0, endSample: sampleCount }];
  const rows = Math.ceil(sampleCount / rowSamples);
  const longest = Math.floor(longestSamples / rowSamples);
  const overlap = Math.ceil(overlapSamples / rowSamples);
  const count = Math.ceil((rows - overlap) / (longest - overlap));
  const length = Math.ceil((rows + (count - 1) * overlap) / count);
  return Array.from({ length: count }, (_, index) => {
    const startRow = Math.floor((index * (rows - length)) / (count - 1));
    return {
      startSample: startRow * rowSamples,
      endSample: Math.min((startRow + length) * rowSamples, sampleCount),
    };
  });
}

/**
 * Joins the rows of overlapping passes, each row from one pass, so that no word is lost or repeated. Each
 * seam lies in the middle half of an overlap, where both passes emit least: in a pause if there is one.
 * Otherwise it is between two letters where the joined text equals that of one of the passes.
 *
 * @param width number of outputs, the blank first
 */
export function stitchPasses(
  parts: readonly PassRows[],
  width: number,
): { logProbs: Float32Array; rows: number } {
  const last = parts.at(-1)!;
  const rows = last.startRow + last.rows;
  const logProbs = new Float32Array(rows * width);
  let fromRow = 0;
  for (const [index, part] of parts.entries()) {
    const next = parts[index + 1];
    const untilRow = next === undefined ? rows : seamRow(part, next, width);
    const { startRow } = part;
    logProbs.set(
      part.logProbs.subarray((fromRow - startRow) * width, (untilRow - startRow) * width),
      fromRow * width,
    );
    fromRow = untilRow;
  }
  return { logProbs, rows };
}

/** Chooses the first row to take from the second pass. */
function seamRow(first: PassRows, second: PassRows, width: number): number {
  const end = first.startRow + first.rows;
  const quarter = Math.floor((end - second.startRow) / 4);
  const [from, until] = [second.startRow + quarter, end - quarter];
  const middle = (from + until) / 2;
  const candidates = Array.from({ length: until - from + 1 }, (_, index) => {
    const row = from + index;
    return { row, heard: heardAround(first, row, width) + heardAround(second, row, width) };
  }).sort((a, b) => a.heard - b.heard || Math.abs(a.row - middle) - Math.abs(b.row - middle));
  const agreed = candidates.find(({ row }) => readsAlike(first, second, row, width));
  return (agreed ?? candidates[0])!.row;
}

/** Sums the probability of all outputs but the blank near a seam. */
function heardAround(part: PassRows, row: number, width: number): number {
  let heard = 0;
  for (let near = row - GAP_ROWS; near < row + GAP_ROWS; near++) {
    const at = (near - part.startRow) * width;
    if (near >= part.startRow && near < part.startRow + part.rows) heard += 1 - Math.exp(part.logProbs[at]!);
  }
  return heard;
}

function readsAlike(first: PassRows, second: PassRows, row: number, width: number): boolean {
  const [from, until] = [Math.max(row - NEIGHBOUR_ROWS, second.startRow), row + NEIGHBOUR_ROWS];
  const before = bestOf(first, from, row, width);
  const after = bestOf(second, row, until, width);
  const across = collapsed([...before, ...after]);
  const byFirst = collapsed([...before, ...bestOf(first, row, until, width)]);
  const bySecond = collapsed([...bestOf(second, from, row, width), ...after]);
  return across === byFirst || across === bySecond;
}

/** The best output of each row of the pass in the range. */
function bestOf(part: PassRows, from: number, until: number, width: number): number[] {
  const best: number[] = [];
  const end = Math.min(until, part.startRow + part.rows);
  for (let row = from; row < end; row++) {
    best.push(bestToken(part.logProbs, (row - part.startRow) * width, width));
  }
  return best;
}

/** Outputs without repeats and blanks, for comparison. */
function collapsed(best: readonly number[]): string {
  return best.filter((token, i) => token !== BLANK && token !== best[i - 1]).join(" ");
}
