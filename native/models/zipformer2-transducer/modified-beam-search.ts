import { Tensor } from "onnxruntime-node";
import type { HotWords } from "../../../core/domain/decoding/hot-words.js";
import { logAdd } from "../../../core/domain/decoding/log-add.js";
import {
  type Hypotheses,
  type Hypothesis,
  searchStopped,
} from "../../../core/domain/decoding/prefix-beam-search.js";
import type { StatelessGraphs } from "./stateless-graphs.js";
import { ROWS_PER_FRAME, UNLIKELY } from "./transducer-search.js";

/** Number of outputs of a path's frame that hot words may lift into the beam. */
const CANDIDATES = 16;

/** A path's output at a frame. */
interface Step {
  readonly previous: Step | null;
  /** Index in the vocabulary; 0 is the blank. */
  readonly token: number;
  readonly logProb: number;
}

interface Path {
  /** Key made of the tokens, to find equal texts. */
  readonly key: string;
  readonly length: number;
  readonly context: BigInt64Array;
  readonly last: Step | null;
  readonly hotState: number;
  score: number;
}

interface Candidate {
  readonly path: Path;
  readonly token: number;
  readonly logProb: number;
  readonly hotState: number;
  readonly score: number;
}

/**
 * The beam search of a transducer with a stateless decoder: at most one token per frame, and paths with the
 * same text are summed, as in sherpa-onnx's `modified_beam_search`. Hot words score before a frame's paths
 * are chosen.
 *
 * @see k2-fsa/icefall, `beam_search.py`, `modified_beam_search`; k2-fsa/sherpa-onnx,
 *   `online-transducer-modified-beam-search-decoder.cc`
 */
export class ModifiedBeamSearch {
  readonly #graphs: StatelessGraphs;
  readonly #activePaths: number;

  constructor(graphs: StatelessGraphs, activePaths: number) {
    this.#graphs = graphs;
    this.#activePaths = activePaths;
  }

  /**
   * @param encoded `[frames, width]`
   * @param stop see `TokenSearch.searchAside`
   * @returns the best text by its score per token, then the others by their scores
   * @throws {ServiceError} `CANCELLED` if `stop` ended it
   */
  async search(
    encoded: Float32Array,
    hotWords: HotWords | null,
    stop: Int32Array | null = null,
  ): Promise<Hypotheses> {
    const { width } = this.#graphs;
    const frames = encoded.length / width;
    const hotState = hotWords?.startState ?? 0;
    const context = this.#graphs.firstContext();
    let paths: Path[] = [{ key: "", length: context.length, context, last: null, hotState, score: 0 }];
    for (let frame = 0; frame < frames; frame++) {
      if (stop !== null && Atomics.load(stop, 0) !== 0) throw searchStopped();
      const decoded = await this.#decoded(paths);
      const part = encoded.subarray(frame * width, (frame + 1) * width);
      const logits = await this.#graphs.join(part, decoded);
      paths = this.#keepBest(this.#candidates(paths, logits, hotWords));
    }
    return this.#hypotheses(paths, frames, hotWords);
  }

  /** @returns `[paths, width]` */
  async #decoded(paths: readonly Path[]): Promise<Tensor> {
    const { width } = this.#graphs;
    const all = new Float32Array(paths.length * width);
    for (const [index, { context }] of paths.entries()) {
      const { data } = await this.#graphs.decode(context);
      all.set(data as Float32Array, index * width);
    }
    return new Tensor("float32", all, [paths.length, width]);
  }

  #candidates(paths: readonly Path[], logits: Float32Array, hotWords: HotWords | null): Candidate[] {
    const { columns, width } = this.#graphs.tokens;
    const perPath = hotWords === null ? this.#activePaths : Math.max(CANDIDATES, this.#activePaths);
    return paths.flatMap((path, index) => {
      const row = logits.subarray(index * width, (index + 1) * width);
      const total = logSum(row, columns);
      return best(row, columns, perPath).map((token) => {
        const logProb = row[columns[token]!]! - total;
        const isText = this.#isText(token);
        const hotState = hotWords === null || !isText ? path.hotState : hotWords.step(path.hotState, token);
        const bonus = hotWords === null || !isText ? 0 : hotWords.stepScore;
        return { path, token, logProb, hotState, score: path.score + logProb + bonus };
      });
    });
  }

  /** Extends the best paths; sums those whose texts become equal. */
  #keepBest(candidates: readonly Candidate[]): Path[] {
    // The sort is stable, so ties go to the better path, then to the lower column.
    const kept = [...candidates].sort((a, b) => b.score - a.score).slice(0, this.#activePaths);
    const next = new Map<string, Path>();
    for (const { path, token, logProb, hotState, score } of kept) {
      const isText = this.#isText(token);
      const key = isText ? `${path.key},${token}` : path.key;
      const same = next.get(key);
      if (same !== undefined) {
        same.score = logAdd(same.score, score);
        continue;
      }
      const column = BigInt(this.#graphs.tokens.columns[token]!);
      next.set(key, {
        key,
        length: path.length + (isText ? 1 : 0),
        context: isText ? BigInt64Array.from([...path.context.subarray(1), column]) : path.context,
        last: { previous: path.last, token: isText ? token : 0, logProb },
        hotState,
        score,
      });
    }
    return [...next.values()];
  }

  #hypotheses(paths: readonly Path[], frames: number, hotWords: HotWords | null): Hypotheses {
    // An incomplete hot word loses its credit.
    const ended = paths.map((path) => {
      return { ...path, score: path.score - (hotWords?.credit[path.hotState] ?? 0) };
    });
    const byToken = ended.toSorted((a, b) => b.score / b.length - a.score / a.length);
    const [first, ...others] = byToken.map(
      (path): Hypothesis => ({ tokens: path.key.split(",").slice(1).map(Number), score: path.score }),
    );
    const rows = this.#rowsOf(byToken[0]!, frames);
    return [{ ...first!, rows }, ...others.sort((a, b) => b.score - a.score)];
  }

  /** Writes a path as the rows of a CTC head, in the vocabulary's order. */
  #rowsOf({ last }: Path, frames: number): Float32Array {
    const count = this.#graphs.tokens.columns.length;
    const rows = new Float32Array(frames * ROWS_PER_FRAME * count).fill(UNLIKELY);
    let step = last;
    for (let frame = frames - 1; frame >= 0; frame--) {
      const at = frame * ROWS_PER_FRAME * count;
      rows[at + step!.token] = step!.logProb;
      rows[at + count] = 0;
      step = step!.previous;
    }
    return rows;
  }

  /** Returns whether an output is text; `<unk>` is not, and counts as a blank. */
  #isText(token: number): boolean {
    const { columns, unknown } = this.#graphs.tokens;
    return token !== 0 && columns[token] !== unknown;
  }
}

function logSum(row: Float32Array, columns: Int32Array): number {
  let highest = Number.NEGATIVE_INFINITY;
  for (const column of columns) highest = Math.max(highest, row[column]!);
  let sum = 0;
  for (const column of columns) sum += Math.exp(row[column]! - highest);
  return highest + Math.log(sum);
}

/** Returns the indices of the highest columns, best first. */
function best(row: Float32Array, columns: Int32Array, count: number): number[] {
  const chosen: number[] = [];
  for (let token = 0; token < columns.length; token++) {
    const value = row[columns[token]!]!;
    if (chosen.length === count && value <= row[columns[chosen.at(-1)!]!]!) continue;
    if (chosen.length === count) chosen.pop();
    let at = chosen.length;
    while (at > 0 && row[columns[chosen[at - 1]!]!]! < value) at--;
    chosen.splice(at, 0, token);
  }
  return chosen;
}
