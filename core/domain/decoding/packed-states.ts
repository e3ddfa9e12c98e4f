import { brokenLanguageModel } from "./broken-language-model.js";

/** The upper bit of a token marks an n-gram that is a state. @public for the recipe that packs */
export const STATE_BIT = 128;
const MAX_ARCS_OF_A_STATE = 256;
/** Limit on the length of suffix chains, far above any order. */
const MAX_LEVELS = 64;
/** Probability 1. Probabilities are integers, so their sums are exact. */
const ONE = 1 << 24;
/** Smallest meaningful remainder of a sum, given the quantization. */
const MIN_REST = 256;
/** ln 2 * 65536 / 256: 256ths of an octave to 65536ths of a natural logarithm. */
const SLOPE = 177.44567822334599;

/** Offsets of the kinds of symbol contexts. */
const COUNTS = 0;
const HERE = COUNTS + 4 * 24 * 8;
const LOG_PROBS = HERE + 8 * 8;
const BACKOFFS = LOG_PROBS + 64 * 15;
export const GAPS = BACKOFFS + 64 * 8;
export const SYMBOL_CONTEXTS = GAPS + 1;
/** Offsets of the kinds of bit contexts. */
const ALL_HERE = 0;
const TAKEN = ALL_HERE + 3 * 4 * 32;
const IS_STATE = TAKEN + 4 * 4 * 48;
export const BIT_CONTEXTS = IS_STATE + 16 * 4 * 2 * 3;

/**
 * Class of a history by its length. Longer histories share classes: they are rarer, and their probabilities
 * coarser.
 */
const LENGTH_OF_FOUR = [0, 0, 0, 0, 0, 1, 1, 2, 3];
const LENGTH_OF_FIVE = [0, 0, 0, 0, 1, 1, 2, 3, 4];

/** Reads symbols, or writes the `known` ones and returns them. */
export interface StateCoder {
  readonly isWriting: boolean;
  symbol(context: number, known: number): number;
  bit(context: number, known: number): number;
  raw(bits: number, known: number): number;
}

/** Tables in the order of the plain file, tokens with the state bit; a reader fills them in. */
export interface StateTables {
  readonly tokens: Uint8Array;
  readonly codes: Uint8Array;
  readonly counts: Uint8Array;
  readonly backoffs: Uint8Array;
  readonly logProbCodes: Float32Array;
  readonly backoffCodes: Float32Array;
  /**
   * The probability of each log-prob code (2^24 for 1), and 256 times the binary logarithm of 1 + i / 256.
   */
  readonly masses: Uint32Array;
  readonly logs: Uint8Array;
}

/** Links between states, computed from the tables. */
export interface StateLinks {
  /** First arc of every state, and the end of the last. */
  readonly firstArc: Uint32Array;
  /** Next state in the upper 24 bits, log-prob code in the lower 8. */
  readonly targets: Uint32Array;
  readonly suffix: Uint32Array;
}

/**
 * Codes the states in order, each by what its suffix predicts: most of its tokens are among the suffix's (or
 * the suffix's suffix's, and so on), a log-prob is near the shorter history's, and the back-off weight makes
 * the sum one. A reader fills in the tables.
 *
 * @throws {ServiceError} `MODEL_BROKEN` when the input cannot be a model
 */
export function walkStates(coder: StateCoder, tables: StateTables, vocabularySize: number): StateLinks {
  const walk = new StateWalk(coder, tables);
  walk.root(vocabularySize);
  for (let state = 1; state < tables.counts.length; state++) walk.state(state);
  return walk.end();
}

class StateWalk {
  readonly #coder: StateCoder;
  readonly #tables: StateTables;
  readonly #scales: ReturnType<typeof scalesOf>;
  readonly #firstArc: Uint32Array;
  readonly #targets: Uint32Array;
  readonly #suffix: Uint32Array;
  /** Log-prob code of the arc that leads to the state. */
  readonly #entries: Uint8Array;
  /** Sum of the probabilities of each state's arcs. */
  readonly #sums: Uint32Array;
  /** For each token, the last state that contains it, and the last state whose search visited it. */
  readonly #owner = new Int32Array(STATE_BIT).fill(-1);
  readonly #seen = new Int32Array(STATE_BIT).fill(-1);
  /**
   * For each arc of the state: its token, the shorter history's arc, and the log-prob code that it suggests.
   */
  readonly #found = new Uint8Array(MAX_ARCS_OF_A_STATE);
  readonly #lower = new Uint32Array(MAX_ARCS_OF_A_STATE);
  readonly #suggested = new Uint8Array(MAX_ARCS_OF_A_STATE);
  #next = 1;
  /** Length of the state's history, and the first state with a longer one. */
  #length = 0;
  #lengthEnd = 1;

  constructor(coder: StateCoder, tables: StateTables) {
    const stateCount = tables.counts.length;
    this.#coder = coder;
    this.#tables = tables;
    this.#scales = scalesOf(tables);
    this.#firstArc = new Uint32Array(stateCount + 1);
    this.#targets = new Uint32Array(tables.tokens.length);
    this.#suffix = new Uint32Array(stateCount);
    this.#entries = new Uint8Array(stateCount);
    this.#sums = new Uint32Array(stateCount);
  }

  root(vocabularySize: number): void {
    const { tokens, codes, counts, backoffs, masses } = this.#tables;
    if (vocabularySize > tokens.length || vocabularySize > STATE_BIT)
      throw brokenLanguageModel("its root is too large");
    counts[0] = vocabularySize;
    this.#firstArc[1] = vocabularySize;
    for (let token = 0; token < vocabularySize; token++) {
      const code = this.#coder.raw(8, codes[token]!);
      const isState = this.#coder.raw(1, tokens[token]! >> 7);
      codes[token] = code;
      tokens[token] = token | (isState << 7);
      if (isState === 1) this.#entries[this.#next] = code;
      this.#targets[token] = ((isState === 1 ? this.#next++ : 0) << 8) | code;
      this.#sums[0]! += masses[code]!;
    }
    backoffs[0] = this.#coder.raw(8, backoffs[0]!);
  }

  state(state: number): void {
    if (state >= this.#next || this.#next > this.#tables.counts.length)
      throw brokenLanguageModel("its states are not in order");
    if (state === this.#lengthEnd) {
      this.#length = Math.min(8, this.#length + 1);
      this.#lengthEnd = this.#next;
    }
    const count = this.#codeCount(state);
    this.#findTokens(state, count);
    const lowerSum = this.#codeArcs(state, count);
    this.#codeBackoff(state, lowerSum);
  }

  end(): StateLinks {
    const { tokens, counts } = this.#tables;
    if (this.#next !== counts.length)
      throw brokenLanguageModel(`states must be ${counts.length}, found ${this.#next}`);
    if (this.#firstArc[counts.length] !== tokens.length) throw brokenLanguageModel("its arcs do not add up");
    return { firstArc: this.#firstArc, targets: this.#targets, suffix: this.#suffix };
  }

  #codeCount(state: number): number {
    const { tokens, counts } = this.#tables;
    const firstArc = this.#firstArc;
    const at = this.#suffix[state]!;
    const choices = firstArc[at + 1]! - firstArc[at]!;
    const choiceClass = choices < 16 ? choices : Math.min(23, 14 + (choices >> 3));
    const context = (LENGTH_OF_FOUR[this.#length]! * 24 + choiceClass) * 8 + (this.#entries[state]! >> 5);
    const count = this.#coder.symbol(COUNTS + context, counts[state]!);
    counts[state] = count;
    firstArc[state + 1] = firstArc[state]! + count;
    if (firstArc[state + 1]! > tokens.length) throw brokenLanguageModel("its arcs do not add up");
    return count;
  }

  /** Finds the state's tokens among those of its suffix, the suffix's suffix, and so on. */
  #findTokens(state: number, count: number): void {
    const { tokens, backoffs } = this.#tables;
    const first = this.#firstArc[state]!;
    for (let arc = first; this.#coder.isWriting && arc < first + count; arc++)
      this.#owner[tokens[arc]! & 127] = state;
    let at = this.#suffix[state]!;
    let size = 0;
    let shift = 0;
    for (let level = 0; size < count; level++) {
      if (level > MAX_LEVELS) throw brokenLanguageModel("its histories are too long");
      size = this.#findAt(at, { state, level, size, count, shift });
      const end = this.#firstArc[at + 1]!;
      if (size < count)
        for (let arc = this.#firstArc[at]!; arc < end; arc++) this.#seen[tokens[arc]! & 127] = state;
      shift += this.#scales.shifts[backoffs[at]!]!;
      at = this.#suffix[at]!;
      if (level > 0) sortByToken(this.#found, this.#lower, this.#suggested, size);
    }
  }

  /** Adds the tokens that the state shares with the shorter history `at`. @returns the tokens found so far */
  #findAt(at: number, search: TokenSearch): number {
    const { tokens, codes, masses, logs } = this.#tables;
    const { state, level, count, shift } = search;
    const seen = this.#seen;
    const begin = this.#firstArc[at]!;
    const end = this.#firstArc[at + 1]!;
    let { size } = search;
    let left = end - begin;
    let rest = this.#sums[at]!;
    for (let arc = begin; level > 0 && arc < end; arc++) {
      if (seen[tokens[arc]! & 127] !== state) continue;
      left--;
      rest -= masses[codes[arc]!]!;
    }
    let here = this.#codeShared(at, search, left);
    if (here > left || here > count - size) throw brokenLanguageModel("its tokens do not add up");
    for (let arc = begin; arc < end && here > 0; arc++) {
      const token = tokens[arc]! & 127;
      if (level > 0 && seen[token] === state) continue;
      const mass = masses[codes[arc]!]!;
      let isTaken = left <= here;
      if (!isTaken) {
        const share = Math.max(0, Math.min(47, (logOf(logs, rest) - logOf(logs, mass)) >> 2));
        const context = (Math.min(here, 4) - 1) * 4 + Math.min(left - here, 4) - 1;
        const known = this.#owner[token] === state ? 1 : 0;
        isTaken = this.#coder.bit(TAKEN + context * 48 + share, known) === 1;
      }
      if (isTaken) {
        this.#found[size] = token;
        this.#lower[size] = arc;
        this.#suggested[size++] = Math.max(0, Math.min(255, codes[arc]! + shift));
        here--;
      }
      rest -= mass;
      left--;
    }
    return size;
  }

  /** Codes how many of the `left` tokens of `at` the state shares. */
  #codeShared(at: number, { state, level, size, count }: TokenSearch, left: number): number {
    const missing = count - size;
    if (at === 0) return missing;
    let known = 0;
    const end = this.#firstArc[at + 1]!;
    for (let arc = this.#firstArc[at]!; this.#coder.isWriting && arc < end; arc++) {
      const token = this.#tables.tokens[arc]! & 127;
      if (this.#owner[token] === state && this.#seen[token] !== state) known++;
    }
    const all = (Math.min(level, 2) * 4 + Math.min(missing, 4) - 1) * 32 + Math.min(left, 31);
    if (this.#coder.bit(ALL_HERE + all, known === missing ? 1 : 0) === 1) return missing;
    return this.#coder.symbol(HERE + Math.min(missing, 7) * 8 + Math.min(left, 7), known);
  }

  /** Codes the log-probs and states of the found tokens. @returns the sum of the suggested probabilities */
  #codeArcs(state: number, count: number): number {
    const { tokens, codes, masses } = this.#tables;
    const targets = this.#targets;
    const countClass = Math.max(1, Math.min(count, 3)) - 1;
    const four = LENGTH_OF_FOUR[this.#length]!;
    const five = LENGTH_OF_FIVE[this.#length]!;
    let sum = 0;
    let lowerSum = 0;
    for (let i = 0; i < count; i++) {
      const arc = this.#firstArc[state]! + i;
      const guess = this.#suggested[i]!;
      const context = (guess >> 2) * 15 + five * 3 + countClass;
      const code = this.#coder.symbol(LOG_PROBS + context, codes[arc]!);
      codes[arc] = code;
      const below = this.#lower[i]!;
      const isStateBelow = tokens[below]! >> 7;
      const bitContext = (((code >> 4) * 4 + four) * 2 + isStateBelow) * 3 + countClass;
      const isState = this.#coder.bit(IS_STATE + bitContext, tokens[arc]! >> 7);
      tokens[arc] = this.#found[i]! | (isState << 7);
      sum += masses[code]!;
      lowerSum += masses[guess]!;
      let target = targets[below]! >>> 8;
      if (isState === 1) {
        this.#suffix[this.#next] = target;
        this.#entries[this.#next] = code;
        target = this.#next++;
      }
      targets[arc] = (target << 8) | code;
    }
    this.#sums[state] = sum;
    return lowerSum;
  }

  /** Codes the back-off weight, predicted as the weight that makes the sum one. */
  #codeBackoff(state: number, lowerSum: number): void {
    const { logs, backoffs } = this.#tables;
    const { backoffOfOne, backoffSlope } = this.#scales;
    const ownRest = logOf(logs, Math.max(MIN_REST, ONE - this.#sums[state]!), 0);
    const lowerRest = logOf(logs, Math.max(MIN_REST, ONE - lowerSum), 0);
    const weight = Math.floor(((ownRest - lowerRest) * backoffSlope + 32_768) / 65_536) + backoffOfOne;
    const guess = Math.max(0, Math.min(255, weight));
    const fine = Math.max(0, Math.min(63, (24 * 256 - ownRest) >> 5));
    const context = BACKOFFS + fine * 8 + Math.min(7, 24 - (lowerRest >> 8));
    backoffs[state] = (this.#coder.symbol(context, (backoffs[state]! - guess) & 255) + guess) & 255;
  }
}

/** The search for a state's tokens at one level of shorter histories. */
interface TokenSearch {
  readonly state: number;
  readonly level: number;
  /** Tokens found so far, and in all. */
  readonly size: number;
  readonly count: number;
  /** Amount that the back-offs to this level add to a log-prob code. */
  readonly shift: number;
}

/** Binary logarithm of an integer in 16ths; in 256ths with a `drop` of 0. */
function logOf(logs: Uint8Array, value: number, drop = 4): number {
  const whole = Math.max(1, value);
  const exponent = 31 - Math.clz32(whole);
  const mantissa = exponent >= 8 ? (whole >>> (exponent - 8)) & 255 : (whole << (8 - exponent)) & 255;
  return ((exponent << 8) + logs[mantissa]!) >> drop;
}

/** Increments of the file's codes, as integers, so that every reader predicts the same values. */
function scalesOf({ logProbCodes, backoffCodes, masses }: StateTables): {
  shifts: Int32Array;
  backoffOfOne: number;
  backoffSlope: number;
} {
  if (masses.some((mass) => mass > ONE)) throw brokenLanguageModel("its probabilities are above one");
  const logProbStep = (logProbCodes[255]! - logProbCodes[0]!) / 255;
  const backoffStep = (backoffCodes[255]! - backoffCodes[0]!) / 255;
  if (!(Math.abs(logProbStep) > 1e-6 && Math.abs(backoffStep) > 1e-6)) {
    throw brokenLanguageModel("its codes do not differ");
  }
  const within = (value: number, limit: number) => Math.max(-limit, Math.min(limit, Math.floor(value + 0.5)));
  return {
    shifts: Int32Array.from(backoffCodes, (weight) => within(weight / logProbStep, 255)),
    backoffOfOne: within(-backoffCodes[0]! / backoffStep, 1e6),
    backoffSlope: Math.floor(SLOPE / backoffStep + 0.5),
  };
}

/** Sorts a state's arcs by token; each level's are sorted already. */
function sortByToken(found: Uint8Array, lower: Uint32Array, suggested: Uint8Array, size: number): void {
  for (let i = 1; i < size; i++) {
    const [token, arc, code] = [found[i]!, lower[i]!, suggested[i]!];
    let at = i;
    for (; at > 0 && found[at - 1]! > token; at--) {
      found[at] = found[at - 1]!;
      lower[at] = lower[at - 1]!;
      suggested[at] = suggested[at - 1]!;
    }
    found[at] = token;
    lower[at] = arc;
    suggested[at] = code;
  }
}
