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
}

export interface ChunkRules {
  /** The first chunk; each is twice as long as the one before. */
  readonly first: number;
  /** No chunk grows beyond it, so that a step of one never keeps a newcomer waiting for long. */
  readonly longest: number;
  /** On each side, where the piece has as much. */
  readonly context: number;
}

/** Half a second, then twice as much up to 4 s, with 0.34 s of context. The measurements are in `native/synthesis`. */
export const GROWING_CHUNKS: ChunkRules = { first: 24, longest: 192, context: 16 };

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
  if (chunking === "whole") return [{ start: 0, end: patches, contextStart: 0, contextEnd: patches }];
  const chunks: SolverChunk[] = [];
  let length = rules.first;
  for (let start = 0; start < patches; length = Math.min(2 * length, rules.longest)) {
    const rest = patches - start - length;
    const end = rest <= Math.max(rules.context, length >> 1) ? patches : start + length;
    const contextStart = Math.max(0, start - rules.context);
    chunks.push({ start, end, contextStart, contextEnd: Math.min(patches, end + rules.context) });
    start = end;
  }
  return chunks;
}
