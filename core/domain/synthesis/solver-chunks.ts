/** A piece is solved as a whole or, for an early first sound, in growing chunks. */
export type Chunking = "whole" | "growing";

/** Patches of a piece that are solved together. Positions are patches of the piece. */
export interface SolverChunk {
  /** First and one past the last patch of the result. */
  readonly start: number;
  readonly end: number;
  /** Input of the solver: these patches, and those around them that they depend on. */
  readonly contextStart: number;
  readonly contextEnd: number;
  /** Patches from `start` on over which the previous chunk is cross-faded into this one. */
  readonly overlap: number;
}

export interface ChunkRules {
  /** Length of the first chunk; each is twice as long as the one before. */
  readonly first: number;
  /** Length limit of a chunk, so that its steps never delay new work for long. */
  readonly longest: number;
  /** Context on each side, where the piece has as much. */
  readonly context: number;
  /** Patches of the cross-fade after a border; at most `context`. */
  readonly overlap: number;
}

/**
 * A third of a second, then twice as much up to 4 s, with 0.21 s of context; measured in `native/synthesis`.
 */
export const GROWING_CHUNKS: ChunkRules = { first: 16, longest: 192, context: 10, overlap: 4 };

/**
 * Pure: cuts a piece for the solver, by its length and the job's chunking only, so that the same job gives
 * the same samples on any worker.
 *
 * A remainder within a chunk's context, or shorter than half of the chunk, is solved with it.
 * @param patches length of the piece, at least 1
 */
export function solverChunks(
  patches: number,
  chunking: Chunking,
  rules: ChunkRules = GROWING_CHUNKS,
): SolverChunk[] {
  if (chunking === "whole")
    return [{ start: 0, end: patches, contextStart: 0, contextEnd: patches, overlap: 0 }];
  const chunks: SolverChunk[] = [];
  let length = rules.first;
  for (let start = 0; start < patches; length = Math.min(2 * length, rules.longest)) {
    const rest = patches - start - length;
    const end = rest <= Math.max(rules.context, length >> 1) ? patches : start + length;
    const contextStart = Math.max(0, start - rules.context);
    const contextEnd = Math.min(patches, end + rules.context);
    const known = (chunks.at(-1)?.contextEnd ?? 0) - start;
    const overlap = Math.max(0, Math.min(rules.overlap, known));
    chunks.push({ start, end, contextStart, contextEnd, overlap });
    start = end;
  }
  return chunks;
}

/**
 * Writes a solved chunk into the mel of its piece, cross-faded with the right context of the previous chunk,
 * so that the border has no step.
 *
 * @param mel `[frames of the piece, melBins]`
 * @param solved `[frames, melBins]` of the chunk from its first frame on, right context included
 * @param at position of that frame in the piece, and frames of the cross-fade
 */
export function layOver(
  mel: Float32Array,
  solved: Float32Array,
  at: { readonly frame: number; readonly overlapFrames: number; readonly melBins: number },
): void {
  const { frame, overlapFrames, melBins } = at;
  const offset = frame * melBins;
  for (let i = 0; i < overlapFrames; i++) {
    const share = (i + 0.5) / overlapFrames;
    for (let at = i * melBins; at < (i + 1) * melBins; at++) {
      mel[offset + at] = mel[offset + at]! + share * (solved[at]! - mel[offset + at]!);
    }
  }
  mel.set(solved.subarray(overlapFrames * melBins), offset + overlapFrames * melBins);
}
