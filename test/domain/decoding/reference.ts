import type { TokenModel } from "../../../core/domain/decoding/language-model.js";
import { EMPTY_WORD_HASH, extendWordHash } from "../../../core/domain/decoding/lexicon.js";

/** Output 0 is blank, output 1 is the space. */
export const SMALL_VOCABULARY = ["", " ", "а", "б"] as const;
const SPACE = 1;

export interface ScoredText {
  readonly tokens: readonly number[];
  readonly score: number;
}

export interface FusionWeights {
  readonly languageModelWeight: number;
  readonly characterBonus: number;
  readonly wordBonus: number;
}

/** Sums every path of every text by brute force, over vocabulary ^ frames paths. */
export function everyText(
  logProbs: Float32Array,
  frames: number,
  width: number,
  model: TokenModel | null,
  weights: FusionWeights,
): ScoredText[] {
  const sums = new Map<string, number>();
  const path = new Array<number>(frames).fill(0);
  const paths = width ** frames;
  for (let code = 0; code < paths; code++) {
    let rest = code;
    let logProb = 0;
    for (let frame = 0; frame < frames; frame++) {
      path[frame] = rest % width;
      rest = Math.floor(rest / width);
      logProb += logProbs[frame * width + path[frame]!]!;
    }
    const key = collapse(path).join(",");
    sums.set(key, (sums.get(key) ?? 0) + Math.exp(logProb));
  }
  const texts: ScoredText[] = [];
  for (const [key, sum] of sums) {
    const tokens = key === "" ? [] : key.split(",").map(Number);
    if (!isAllowed(tokens)) continue;
    texts.push({ tokens, score: Math.log(sum) + textScore(tokens, model, weights) });
  }
  return texts.sort((a, b) => b.score - a.score);
}

/** Returns the amount that a whole text, including its end, adds to its acoustic score. */
function textScore(tokens: readonly number[], model: TokenModel | null, weights: FusionWeights): number {
  let score = tokens.length * weights.characterBonus;
  if (model === null) return score;
  let state = model.startState;
  let wordHash = EMPTY_WORD_HASH;
  for (const token of tokens) {
    if (token === SPACE && !model.hasWord(wordHash)) score -= weights.wordBonus;
    wordHash = token === SPACE ? EMPTY_WORD_HASH : extendWordHash(wordHash, token);
    state = model.advance(state, token);
    score += weights.languageModelWeight * model.logProb;
  }
  if (tokens.length === 0 || tokens.at(-1) === SPACE) return score;
  if (!model.hasWord(wordHash)) score -= weights.wordBonus;
  model.advance(state, 0);
  const ends = Math.exp(model.logProb);
  model.advance(state, SPACE);
  return score + weights.languageModelWeight * Math.log(ends + Math.exp(model.logProb));
}

export function collapse(path: readonly number[]): number[] {
  return path.filter((output, i) => output !== 0 && output !== path[i - 1]);
}

function isAllowed(tokens: readonly number[]): boolean {
  return !tokens.some((token, i) => token === SPACE && (i === 0 || tokens[i - 1] === SPACE));
}

/** A bigram model over `width` tokens, with arbitrary but proper probabilities and one known word, "аб". */
export class BigramModel implements TokenModel {
  readonly startState = 0;
  logProb = 0;
  readonly #rows: readonly (readonly number[])[];

  /** @param weights positive, `[width * width]` */
  constructor(weights: readonly number[], width: number) {
    this.#rows = Array.from({ length: width }, (_, from) => {
      const row = weights.slice(from * width, (from + 1) * width);
      const sum = row.reduce((a, b) => a + b, 0);
      return row.map((weight) => Math.log(weight / sum));
    });
  }

  advance(state: number, token: number): number {
    this.logProb = this.#rows[state]![token]!;
    return token;
  }

  hasWord(wordHash: number): boolean {
    return wordHash === extendWordHash(extendWordHash(EMPTY_WORD_HASH, 2), 3);
  }
}

/** Returns rows of log-probs from arbitrary positive weights. */
export function logProbsOf(weights: readonly number[], width: number): Float32Array {
  const logProbs = new Float32Array(weights.length);
  for (let row = 0; row < weights.length; row += width) {
    let sum = 0;
    for (let i = 0; i < width; i++) sum += weights[row + i]!;
    for (let i = 0; i < width; i++) logProbs[row + i] = Math.log(weights[row + i]! / sum);
  }
  return logProbs;
}

/** Prefix beam search over maps as in the paper, without pruning of outputs. Texts are the keys. */
export function simpleBeamSearch(
  logProbs: Float32Array,
  frames: number,
  width: number,
  model: TokenModel,
  weights: FusionWeights,
  { beamWidth, beamMargin }: { readonly beamWidth: number; readonly beamMargin: number },
): ScoredText {
  interface Entry {
    readonly tokens: readonly number[];
    blank: number;
    token: number;
  }
  let beam: Entry[] = [{ tokens: [], blank: 1, token: 0 }];
  const prefixScores = new Map<string, number>();
  const prefixScore = (tokens: readonly number[]): number => {
    const key = tokens.join(",");
    const known = prefixScores.get(key);
    if (known !== undefined) return known;
    // The end applies only to whole texts, so a trailing token is scored without it.
    const score = scoreWithoutEnd(tokens, model, weights);
    prefixScores.set(key, score);
    return score;
  };
  for (let frame = 0; frame < frames; frame++) {
    const next = new Map<string, Entry>();
    const at = (tokens: readonly number[]): Entry => {
      const key = tokens.join(",");
      const entry = next.get(key) ?? { tokens, blank: 0, token: 0 };
      next.set(key, entry);
      return entry;
    };
    for (const { tokens, blank, token } of beam) {
      for (let output = 0; output < width; output++) {
        const p = Math.exp(logProbs[frame * width + output]!);
        if (output === 0) at(tokens).blank += (blank + token) * p;
        else if (output === tokens.at(-1)) {
          at(tokens).token += token * p;
          if (output !== SPACE) at([...tokens, output]).token += blank * p;
        } else if (output !== SPACE || tokens.length > 0) {
          at([...tokens, output]).token += (blank + token) * p;
        }
      }
    }
    const rank = (entry: Entry) => Math.log(entry.blank + entry.token) + prefixScore(entry.tokens);
    const ranked = [...next.values()].sort((a, b) => rank(b) - rank(a)).slice(0, beamWidth);
    const least = rank(ranked[0]!) - beamMargin;
    beam = ranked.filter((entry) => rank(entry) >= least);
  }
  const texts = beam.map(({ tokens, blank, token }) => ({
    tokens,
    score: Math.log(blank + token) + textScore(tokens, model, weights),
  }));
  return texts.sort((a, b) => b.score - a.score)[0]!;
}

function scoreWithoutEnd(tokens: readonly number[], model: TokenModel, weights: FusionWeights): number {
  let score = tokens.length * weights.characterBonus;
  let state = model.startState;
  let wordHash = EMPTY_WORD_HASH;
  for (const token of tokens) {
    if (token === SPACE && !model.hasWord(wordHash)) score -= weights.wordBonus;
    wordHash = token === SPACE ? EMPTY_WORD_HASH : extendWordHash(wordHash, token);
    state = model.advance(state, token);
    score += weights.languageModelWeight * model.logProb;
  }
  return score;
}
