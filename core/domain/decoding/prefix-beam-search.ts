import { ServiceError } from "../errors.js";
import type { GrowingSearch, GrownText } from "./growing-search.js";
import type { HotWords } from "./hot-words.js";
import type { TokenModel } from "./language-model.js";
import { EMPTY_WORD_HASH, extendWordHash } from "./lexicon.js";
import { logAdd } from "./log-add.js";
import { PrefixTree } from "./prefix-tree.js";
import { Ranking } from "./ranking.js";

const BLANK = 0;
const IMPOSSIBLE = Number.NEGATIVE_INFINITY;

export interface BeamSearchOptions {
  readonly beamWidth: number;
  readonly languageModelWeight: number;
  /** Added for every character, because the language model favours short texts. */
  readonly characterBonus: number;
  /**
   * Advantage of a lexicon word over an unknown one, applied as a penalty for unknown words: a bonus for
   * known words would reward splitting long words into short ones.
   */
  readonly wordBonus: number;
  /** Maximum number of outputs of a frame that may extend a prefix. */
  readonly candidatesPerFrame?: number;
  /** Log-prob below which outputs do not extend a prefix. */
  readonly candidateFloor?: number;
  /** Prefixes this far below the best score of their frame are dropped. */
  readonly beamMargin?: number;
}

const DEFAULTS = {
  candidatesPerFrame: 12,
  /** Found by `bench/evaluate/tune.ts`: a lower floor doubles the time at the same error. */
  candidateFloor: Math.log(2e-4),
  /**
   * Changes none of 600 development utterances and takes 30 % less time; a margin of 10 changes one, a margin
   * of 8 seven. Word confidences use texts within 10 of the best.
   */
  beamMargin: 12,
};

const NOTHING_GROWN: GrownText = { tokens: [], settled: 0 };

export function withDefaults(options: BeamSearchOptions): Required<BeamSearchOptions> {
  return { ...DEFAULTS, ...options };
}

/** A text found by a search. */
export interface Hypothesis {
  /** Without blanks, and without a space at the end. */
  readonly tokens: ArrayLike<number>;
  /** Log-prob of the text in the audio, over all paths of the beam, plus the text's own score. */
  readonly score: number;
  /** Rows with its path, to align it with; absent if those are the rows searched. */
  readonly rows?: Float32Array;
}

/** The texts of the beam, best first; at least one. */
export type Hypotheses = readonly [Hypothesis, ...Hypothesis[]];

/** Searches for the text of an utterance; not re-entrant. */
export interface TokenSearch {
  /** @param logProbs `[frames, vocabulary]`, natural log; may be longer than `frames` rows */
  search(logProbs: Float32Array, frames: number, hotWords: HotWords | null): Hypotheses;
  /**
   * Searches on another thread, where supported. May be called again before it settles; the log-probs must
   * not change until then.
   *
   * @param outputBias added to the log-probs of every frame, `[vocabulary]`
   * @param stop its first number ends the search early once another thread sets it; null for none
   * @throws {ServiceError} `CANCELLED` if it ended early
   */
  searchAside?(
    logProbs: Float32Array,
    frames: number,
    hotWords: HotWords | null,
    outputBias: Float32Array | null,
    stop?: Int32Array | null,
  ): Promise<Hypotheses>;
  /** Creates a search over the same model for unfinished utterances; null without a language model. */
  growing?(beamWidth: number): GrowingSearch | null;
}

/** Error of a search that `stop` has ended. */
export function searchStopped(): ServiceError {
  return new ServiceError("CANCELLED", "the search was stopped");
}

/**
 * CTC prefix beam search with a character language model.
 *
 * A prefix is ranked by log(sum of its paths) + weight * log P(text) + bonuses. A space never starts a text
 * or follows a space. Ties go to the prefix that was in the beam first, then to the lower token, so the
 * result is deterministic. Keeps its workspace between calls; not re-entrant. `native/beam` must find the
 * same texts as this reference.
 *
 * @see Hannun et al., 2014, "First-Pass Large Vocabulary Continuous Speech Recognition using Bi-Directional
 * RNNs".
 */
export class PrefixBeamSearch implements TokenSearch, GrowingSearch {
  readonly #vocabulary: readonly string[];
  readonly #width: number;
  readonly #model: TokenModel | null;
  readonly #options: Required<BeamSearchOptions>;
  readonly #space: number;
  readonly #tree = new PrefixTree();
  #beam: Beam;
  #nextBeam: Beam;
  readonly #candidates: Int32Array;
  readonly #ranking: Ranking;
  /** For each beam index and token, the last frame in which that child was in the beam already. */
  readonly #coveredAt: Int32Array;
  #hotWords: HotWords | null = null;
  /** Frames of the growing text. */
  #frameCount = 0;

  constructor(vocabulary: readonly string[], model: TokenModel | null, options: BeamSearchOptions) {
    this.#vocabulary = vocabulary;
    this.#width = vocabulary.length;
    this.#model = model;
    this.#options = withDefaults(options);
    const { beamWidth, candidatesPerFrame } = this.#options;
    this.#space = vocabulary.indexOf(" ");
    this.#beam = new Beam(beamWidth);
    this.#nextBeam = new Beam(beamWidth);
    this.#candidates = new Int32Array(Math.min(candidatesPerFrame, vocabulary.length - 1));
    this.#ranking = new Ranking(beamWidth);
    this.#coveredAt = new Int32Array(beamWidth * vocabulary.length);
  }

  search(logProbs: Float32Array, frames: number, hotWords: HotWords | null): Hypotheses {
    this.#hotWords = hotWords;
    this.#start();
    for (let frame = 0; frame < frames; frame++) this.#step(logProbs, frame * this.#width, frame);
    return this.#hypotheses();
  }

  growing(beamWidth: number): GrowingSearch | null {
    if (this.#model === null) return null;
    return new PrefixBeamSearch(this.#vocabulary, this.#model, { ...this.#options, beamWidth });
  }

  begin(): void {
    this.#hotWords = null;
    this.#start();
    this.#frameCount = 0;
  }

  push(logProbs: Float32Array): number {
    this.#step(logProbs, 0, this.#frameCount++);
    return this.#beam.count === 0 ? 0 : this.#beam.node[0]!;
  }

  grown(): GrownText {
    if (this.#beam.count === 0) return NOTHING_GROWN;
    const best = this.#trimmed(this.#beam.node[0]!);
    const settled = this.#trimmed(this.#wholeWords(this.#commonNode()));
    return { tokens: this.#tree.tokensOf(best), settled: this.#tree.tokensOf(settled).length };
  }

  keepBestText(): void {
    const beam = this.#beam;
    for (let beamIndex = 1; beamIndex < beam.count; beamIndex++) {
      this.#tree.beamIndex[beam.node[beamIndex]!] = -1;
    }
    beam.count = Math.min(beam.count, 1);
  }

  /** The common prefix of all texts. */
  #commonNode(): number {
    const { node, count } = this.#beam;
    const { parent } = this.#tree;
    let common = node[0]!;
    for (let beamIndex = 1; beamIndex < count; beamIndex++) {
      // A node's number is above its parent's.
      for (let at = node[beamIndex]!; at !== common; ) {
        if (at > common) at = parent[at]!;
        else common = parent[common]!;
      }
    }
    return common;
  }

  /** Without the letters after the last space. */
  #wholeWords(node: number): number {
    const { parent, token } = this.#tree;
    let at = node;
    while (at > 0 && token[at] !== this.#space) at = parent[at]!;
    return at;
  }

  /** Without a space at the end. */
  #trimmed(node: number): number {
    return node > 0 && this.#tree.token[node] === this.#space ? this.#tree.parent[node]! : node;
  }

  #start(): void {
    this.#tree.reset(this.#model?.startState ?? 0, EMPTY_WORD_HASH, this.#hotWords?.startState ?? 0);
    this.#tree.beamIndex[0] = 0;
    this.#beam.count = 1;
    this.#beam.node[0] = 0;
    this.#beam.blank[0] = 0;
    this.#beam.token[0] = IMPOSSIBLE;
    this.#coveredAt.fill(-1);
  }

  #step(logProbs: Float32Array, row: number, frame: number): void {
    const candidateCount = this.#chooseCandidates(logProbs, row);
    this.#ranking.clear();
    this.#stay(logProbs, row, frame);
    if (candidateCount > 0) this.#extend(logProbs, row, frame, candidateCount);
    this.#keepBest();
  }

  /** Collects the frame's likeliest outputs but blank, best first, ties by index; returns their number. */
  #chooseCandidates(logProbs: Float32Array, row: number): number {
    const chosen = this.#candidates;
    let count = 0;
    for (let token = 1; token < this.#width; token++) {
      const logProb = logProbs[row + token]!;
      if (logProb < this.#options.candidateFloor) continue;
      if (count === chosen.length && logProb <= logProbs[row + chosen[count - 1]!]!) continue;
      let at = count < chosen.length ? count++ : count - 1;
      for (; at > 0 && logProbs[row + chosen[at - 1]!]! < logProb; at--) chosen[at] = chosen[at - 1]!;
      chosen[at] = token;
    }
    return count;
  }

  /** Offers paths that keep the text, and paths between prefixes of the beam. */
  #stay(logProbs: Float32Array, row: number, frame: number): void {
    const beam = this.#beam;
    const tree = this.#tree;
    for (let beamIndex = 0; beamIndex < beam.count; beamIndex++) {
      beam.total[beamIndex] = logAdd(beam.blank[beamIndex]!, beam.token[beamIndex]!);
    }
    for (let beamIndex = 0; beamIndex < beam.count; beamIndex++) {
      const node = beam.node[beamIndex]!;
      const token = tree.token[node]!;
      const blank = beam.total[beamIndex]! + logProbs[row + BLANK]!;
      let repeat = IMPOSSIBLE;
      if (node !== 0) {
        repeat = beam.token[beamIndex]! + logProbs[row + token]!;
        const parent = tree.parent[node]!;
        const parentIndex = tree.beamIndex[parent]!;
        if (parentIndex >= 0) {
          const from = tree.token[parent] === token ? beam.blank[parentIndex]! : beam.total[parentIndex]!;
          repeat = logAdd(repeat, from + logProbs[row + token]!);
          this.#coveredAt[parentIndex * this.#width + token] = frame;
        }
      }
      const score = logAdd(blank, repeat) + tree.textScore[node]!;
      this.#ranking.offer(score, beamIndex, -1, blank, repeat, 0, 0, 0, tree.textScore[node]!);
    }
  }

  /** Offers paths that add a token and lead to a prefix outside of the beam. */
  #extend(logProbs: Float32Array, row: number, frame: number, candidateCount: number): void {
    const beam = this.#beam;
    const tree = this.#tree;
    const ranking = this.#ranking;
    const hotWords = this.#hotWords;
    const { characterBonus, wordBonus, languageModelWeight, beamMargin } = this.#options;
    for (let beamIndex = 0; beamIndex < beam.count; beamIndex++) {
      const node = beam.node[beamIndex]!;
      const last = tree.token[node]!;
      const textScore = tree.textScore[node]!;
      for (let i = 0; i < candidateCount; i++) {
        const token = this.#candidates[i]!;
        if (this.#coveredAt[beamIndex * this.#width + token] === frame) continue;
        const isSpace = token === this.#space;
        if (isSpace && (node === 0 || last === this.#space)) continue;
        const acoustic =
          (token === last ? beam.blank[beamIndex]! : beam.total[beamIndex]!) + logProbs[row + token]!;
        let childScore = textScore + characterBonus;
        let hotState = 0;
        if (hotWords !== null) {
          hotState = hotWords.step(tree.hotState[node]!, token);
          childScore += hotWords.stepScore;
        }
        // The language model can only lower the score, so most candidates are dropped without a look-up.
        const bound = acoustic + childScore + (isSpace ? Math.max(0, -wordBonus) : 0);
        if (bound <= ranking.worst || bound < ranking.best - beamMargin || acoustic === IMPOSSIBLE) continue;
        let state = 0;
        if (this.#model !== null) {
          state = this.#model.advance(tree.state[node]!, token);
          childScore += languageModelWeight * this.#model.logProb;
          if (isSpace && !this.#model.hasWord(tree.wordHash[node]!)) childScore -= wordBonus;
        }
        const wordHash = isSpace ? EMPTY_WORD_HASH : extendWordHash(tree.wordHash[node]!, token);
        const score = acoustic + childScore;
        ranking.offer(score, beamIndex, token, IMPOSSIBLE, acoustic, state, wordHash, hotState, childScore);
      }
    }
  }

  /** Makes the ranked prefixes the new beam, and adds new ones to the tree. */
  #keepBest(): void {
    const ranking = this.#ranking;
    const tree = this.#tree;
    const beam = this.#beam;
    const next = this.#nextBeam;
    for (let beamIndex = 0; beamIndex < beam.count; beamIndex++) tree.beamIndex[beam.node[beamIndex]!] = -1;
    next.count = ranking.countWithin(this.#options.beamMargin);
    for (let beamIndex = 0; beamIndex < next.count; beamIndex++) {
      const entry = ranking.order[beamIndex]!;
      const from = beam.node[ranking.beamIndex[entry]!]!;
      const token = ranking.token[entry]!;
      let node = from;
      if (token >= 0) {
        node = tree.find(from, token);
        if (node < 0) {
          node = tree.add(
            from,
            token,
            ranking.state[entry]!,
            ranking.wordHash[entry]!,
            ranking.hotState[entry]!,
            ranking.textScore[entry]!,
          );
        }
      }
      next.node[beamIndex] = node;
      next.blank[beamIndex] = ranking.blank[entry]!;
      next.token[beamIndex] = ranking.acoustic[entry]!;
      tree.beamIndex[node] = beamIndex;
    }
    this.#beam = next;
    this.#nextBeam = beam;
  }

  #hypotheses(): Hypotheses {
    const found: Hypothesis[] = [];
    for (let beamIndex = 0; beamIndex < this.#beam.count; beamIndex++) {
      const node = this.#beam.node[beamIndex]!;
      const acoustic = logAdd(this.#beam.blank[beamIndex]!, this.#beam.token[beamIndex]!);
      const score = acoustic + this.#tree.textScore[node]! + this.#endScore(node);
      const tokens = this.#tree.tokensOf(node);
      if (tokens.at(-1) === this.#space) tokens.pop();
      found.push({ tokens, score });
    }
    // The sort is stable, so ties keep the order of the beam.
    const [best, ...others] = found.sort((a, b) => b.score - a.score);
    // If no output is possible, the text is empty.
    return [best ?? { tokens: [], score: IMPOSSIBLE }, ...others];
  }

  /** Scores the end of a text: its last word is complete, and a word or sentence end follows. */
  #endScore(node: number): number {
    // An incomplete hot word loses its credit.
    const broken = this.#hotWords === null ? 0 : -this.#hotWords.credit[this.#tree.hotState[node]!]!;
    if (this.#model === null || node === 0 || this.#tree.token[node] === this.#space) return broken;
    const state = this.#tree.state[node]!;
    this.#model.advance(state, BLANK);
    let logProb = this.#model.logProb;
    if (this.#space >= 0) {
      this.#model.advance(state, this.#space);
      logProb = logAdd(logProb, this.#model.logProb);
    }
    const isKnown = this.#model.hasWord(this.#tree.wordHash[node]!);
    return broken + this.#options.languageModelWeight * logProb + (isKnown ? 0 : -this.#options.wordBonus);
  }
}

/**
 * Prefixes after a frame, with the log-prob of their paths that end in blank, in their token, and of both.
 */
class Beam {
  count = 0;
  readonly node: Int32Array;
  readonly blank: Float64Array;
  readonly token: Float64Array;
  readonly total: Float64Array;

  constructor(width: number) {
    this.node = new Int32Array(width);
    this.blank = new Float64Array(width);
    this.token = new Float64Array(width);
    this.total = new Float64Array(width);
  }
}
