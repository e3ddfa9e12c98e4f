/** How a piece is solved: all of it together, or in chunks that grow, so that its first sound comes soon. */
export type Chunking = "whole" | "growing";

/** Some patches of a piece that are solved together, all their steps. All counts are patches of the piece. */
export interface SolverChunk {
  /** First and one past the last patch that this chunk is solved for. */
  readonly start: number;
  readonly end: number;
  /** What the solver is given: patches around them that they depend on. */
  readonly contextStart: number;
  readonly contextEnd: number;
  /** Over so many patches from `start` on the chunk before goes over into this one. */
  readonly overlap: number;
}

export interface ChunkRules {
  /** The first chunk; each is twice as long as the one before. */
  readonly first: number;
  /** No chunk grows beyond it, so that a step of one never keeps a newcomer waiting for long. */
  readonly longest: number;
  /** On each side, where the piece has as much. */
  readonly context: number;
  /** Over so many patches behind a border one chunk's mel goes over into the next one's; at most `context`. */
  readonly overlap: number;
}

/** A third of a second, then twice as much up to 4 s, with 0.21 s of context. The measurements are in `native/synthesis`. */
export const GROWING_CHUNKS: ChunkRules = { first: 16, longest: 192, context: 10, overlap: 4 };

/**
 * Pure: how a piece is cut for the solver. Nothing but its length and the way that was fixed with its job decides, never
 * what else the machine does: the same job gives the same samples on any worker.
 *
 * What the context of a chunk would reach anyway is solved with it, and so is a rest of less than half of it.
 * @param patches of the piece, 1 or more
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
    chunks.push({
      start,
      end,
      contextStart,
      contextEnd,
      overlap: Math.max(0, Math.min(rules.overlap, known)),
    });
    start = end;
  }
  return chunks;
}

/**
 * Writes what a chunk has become into the mel of its piece, where the chunk before has left its context on the right: over the
 * first frames the one goes over into the other, so that the border is no step.
 *
 * @param mel `[frames of the piece, melBins]`
 * @param solved `[frames, melBins]` of the chunk from its first frame on, its context on the right too
 * @param at where in the piece that frame is, and over how many frames both are mixed; 0 where nothing was there
 */
export function layOver(
  mel: Float32Array,
  solved: Float32Array,
  {
    frame,
    overlapFrames,
    melBins,
  }: { readonly frame: number; readonly overlapFrames: number; readonly melBins: number },
): void {
  const offset = frame * melBins;
  for (let i = 0; i < overlapFrames; i++) {
    const share = (i + 0.5) / overlapFrames;
    for (let at = i * melBins; at < (i + 1) * melBins; at++) {
      mel[offset + at] = mel[offset + at]! + share * (solved[at]! - mel[offset + at]!);
    }
  }
  mel.set(solved.subarray(overlapFrames * melBins), offset + overlapFrames * melBins);
}
