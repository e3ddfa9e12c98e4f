import { brokenLanguageModel } from "./broken-language-model.js";

/** The upper bit of a token says that its n-gram is a state. @public for the recipe that packs */
export const STATE_BIT = 128;
const MAX_ARCS_OF_A_STATE = 256;
/** Suffixes that a state may have one behind the other, far more than any order. */
const MAX_LEVELS = 64;
/** Probabilities as whole numbers, 1 being this: their sums are exact. */
const ONE = 1 << 24;
/** What is left of a sum of them; quantized as they are, less says nothing. */
const MIN_REST = 256;
/** ln 2 * 65536 / 256: 256ths of an octave to 65536ths of a natural logarithm. */
const SLOPE = 177.44567822334599;

/** Contexts of symbols, one kind behind the other. */
const COUNTS = 0;
const HERE = COUNTS + 4 * 24 * 8;
const LOG_PROBS = HERE + 8 * 8;
const BACKOFFS = LOG_PROBS + 64 * 15;
export const GAPS = BACKOFFS + 64 * 8;
export const SYMBOL_CONTEXTS = GAPS + 1;
/** Contexts of bits. */
const ALL_HERE = 0;
const TAKEN = ALL_HERE + 3 * 4 * 32;
const IS_STATE = TAKEN + 4 * 4 * 48;
export const BIT_CONTEXTS = IS_STATE + 16 * 4 * 2 * 3;

/** Contexts of a history's length, up to 8 and more: longer ones are rarer, and their probabilities rougher. */
const LENGTH_OF_FOUR = [0, 0, 0, 0, 0, 1, 1, 2, 3];
const LENGTH_OF_FIVE = [0, 0, 0, 0, 1, 1, 2, 3, 4];

/** Gives what is read; when a file is written, takes what is `known` and gives it back. */
export interface StateCoder {
  readonly isWriting: boolean;
  symbol(context: number, known: number): number;
  bit(context: number, known: number): number;
  raw(bits: number, known: number): number;
}

/** Tables in the order of the plain file, tokens with the state bit; filled in when a file is read. */
export interface StateTables {
  readonly tokens: Uint8Array;
  readonly codes: Uint8Array;
  readonly counts: Uint8Array;
  readonly backoffs: Uint8Array;
  readonly logProbCodes: Float32Array;
  readonly backoffCodes: Float32Array;
  /** Probability of each log-prob code, 2^24 for 1, and 256 times the binary logarithm of 1 + i / 256. */
  readonly masses: Uint32Array;
  readonly logs: Uint8Array;
}

/** What follows from the tables. */
export interface StateLinks {
  /** First arc of every state, and the end of the last. */
  readonly firstArc: Uint32Array;
  /** Next state in the upper 24 bits, log-prob code in the lower 8. */
  readonly targets: Uint32Array;
  readonly suffix: Uint32Array;
}

/**
 * Goes through the states in their order and codes each by what its suffix says: most of its tokens are among the suffix's
 * (or among those of the suffix's suffix, and so on), a log-prob is near the shorter history's, and the backing-off weight
 * is what makes the sum one. Reading, it fills the tables; the links come for nothing.
 *
 * @throws {ServiceError} `MODEL_BROKEN` when what is read cannot be a model
 */
export function walkStates(coder: StateCoder, tables: StateTables, vocabularySize: number): StateLinks {
  const { tokens, codes, counts, backoffs } = tables;
  const stateCount = counts.length;
  const arcCount = tokens.length;
  const { masses, logs } = tables;
  const { shifts, backoffOfOne, backoffSlope } = scalesOf(tables);
  const firstArc = new Uint32Array(stateCount + 1);
  const targets = new Uint32Array(arcCount);
  const suffix = new Uint32Array(stateCount);
  /** Log-prob code of the arc that leads to the state. */
  const entries = new Uint8Array(stateCount);
  /** Of the probabilities of each state's arcs. */
  const sums = new Uint32Array(stateCount);
  /** By token: the last state that has it, and the last whose search came by it. */
  const owner = new Int32Array(STATE_BIT).fill(-1);
  const seen = new Int32Array(STATE_BIT).fill(-1);
  /** Of the state's arcs: token, the shorter history's arc, and the log-prob code that it suggests. */
  const found = new Uint8Array(MAX_ARCS_OF_A_STATE);
  const lower = new Uint32Array(MAX_ARCS_OF_A_STATE);
  const suggested = new Uint8Array(MAX_ARCS_OF_A_STATE);

  if (vocabularySize > arcCount || vocabularySize > STATE_BIT)
    throw brokenLanguageModel("its root is too large");
  counts[0] = vocabularySize;
  firstArc[1] = vocabularySize;
  let next = 1;
  for (let token = 0; token < vocabularySize; token++) {
    codes[token] = coder.raw(8, codes[token]!);
    const isState = coder.raw(1, tokens[token]! >> 7);
    tokens[token] = token | (isState << 7);
    if (isState === 1) entries[next] = codes[token]!;
    targets[token] = ((isState === 1 ? next++ : 0) << 8) | codes[token]!;
    sums[0]! += masses[codes[token]!]!;
  }
  backoffs[0] = coder.raw(8, backoffs[0]!);

  let length = 0;
  let lengthEnd = 1;
  for (let state = 1; state < stateCount; state++) {
    if (state >= next || next > stateCount) throw brokenLanguageModel("its states are not in order");
    if (state === lengthEnd) {
      length = Math.min(8, length + 1);
      lengthEnd = next;
    }
    const first = firstArc[state]!;
    let at = suffix[state]!;
    const choices = firstArc[at + 1]! - firstArc[at]!;
    const four = LENGTH_OF_FOUR[length]!;
    const choiceClass = choices < 16 ? choices : Math.min(23, 14 + (choices >> 3));
    const count = coder.symbol(
      COUNTS + (four * 24 + choiceClass) * 8 + (entries[state]! >> 5),
      counts[state]!,
    );
    counts[state] = count;
    firstArc[state + 1] = first + count;
    if (first + count > arcCount) throw brokenLanguageModel("its arcs do not add up");
    for (let arc = first; coder.isWriting && arc < first + count; arc++) owner[tokens[arc]! & 127] = state;

    let size = 0;
    let shift = 0;
    for (let level = 0; size < count; level++) {
      if (level > MAX_LEVELS) throw brokenLanguageModel("its histories are too long");
      const begin = firstArc[at]!;
      const end = firstArc[at + 1]!;
      let left = end - begin;
      let rest = sums[at]!;
      for (let arc = begin; level > 0 && arc < end; arc++) {
        if (seen[tokens[arc]! & 127] !== state) continue;
        left--;
        rest -= masses[codes[arc]!]!;
      }
      let known = 0;
      for (let arc = begin; coder.isWriting && arc < end; arc++) {
        const token = tokens[arc]! & 127;
        if (owner[token] === state && seen[token] !== state) known++;
      }
      const missing = count - size;
      let here = missing;
      if (at !== 0) {
        const all = ALL_HERE + (Math.min(level, 2) * 4 + Math.min(missing, 4) - 1) * 32 + Math.min(left, 31);
        if (coder.bit(all, known === missing ? 1 : 0) === 0) {
          here = coder.symbol(HERE + Math.min(missing, 7) * 8 + Math.min(left, 7), known);
        }
      }
      if (here > left || here > missing) throw brokenLanguageModel("its tokens do not add up");
      for (let arc = begin; arc < end && here > 0; arc++) {
        const token = tokens[arc]! & 127;
        if (level > 0 && seen[token] === state) continue;
        const mass = masses[codes[arc]!]!;
        if (left > here) {
          const share = Math.max(0, Math.min(47, (logOf(logs, rest) - logOf(logs, mass)) >> 2));
          const context = (Math.min(here, 4) - 1) * 4 + Math.min(left - here, 4) - 1;
          if (coder.bit(TAKEN + context * 48 + share, owner[token] === state ? 1 : 0) === 1) {
            found[size] = token;
            lower[size] = arc;
            suggested[size++] = Math.max(0, Math.min(255, codes[arc]! + shift));
            here--;
          }
        } else {
          found[size] = token;
          lower[size] = arc;
          suggested[size++] = Math.max(0, Math.min(255, codes[arc]! + shift));
          here--;
        }
        rest -= mass;
        left--;
      }
      if (size < count) for (let arc = begin; arc < end; arc++) seen[tokens[arc]! & 127] = state;
      shift += shifts[backoffs[at]!]!;
      at = suffix[at]!;
      if (level > 0) sortByToken(found, lower, suggested, size);
    }

    const countClass = Math.max(1, Math.min(count, 3)) - 1;
    let sum = 0;
    let lowerSum = 0;
    for (let i = 0; i < count; i++) {
      const arc = first + i;
      const guess = suggested[i]!;
      const context = (guess >> 2) * 15 + LENGTH_OF_FIVE[length]! * 3 + countClass;
      const code = coder.symbol(LOG_PROBS + context, codes[arc]!);
      codes[arc] = code;
      const below = lower[i]!;
      const isStateBelow = tokens[below]! >> 7;
      const bitContext = (((code >> 4) * 4 + four) * 2 + isStateBelow) * 3 + countClass;
      const isState = coder.bit(IS_STATE + bitContext, tokens[arc]! >> 7);
      tokens[arc] = found[i]! | (isState << 7);
      sum += masses[code]!;
      lowerSum += masses[guess]!;
      let target = targets[below]! >>> 8;
      if (isState === 1) {
        suffix[next] = target;
        entries[next] = code;
        target = next++;
      }
      targets[arc] = (target << 8) | code;
    }
    sums[state] = sum;
    const ownRest = logOf(logs, Math.max(MIN_REST, ONE - sum), 0);
    const lowerRest = logOf(logs, Math.max(MIN_REST, ONE - lowerSum), 0);
    const weight = Math.floor(((ownRest - lowerRest) * backoffSlope + 32_768) / 65_536) + backoffOfOne;
    const guess = Math.max(0, Math.min(255, weight));
    const fine = Math.max(0, Math.min(63, (24 * 256 - ownRest) >> 5));
    const context = BACKOFFS + fine * 8 + Math.min(7, 24 - (lowerRest >> 8));
    backoffs[state] = (coder.symbol(context, (backoffs[state]! - guess) & 255) + guess) & 255;
  }
  if (next !== stateCount) throw brokenLanguageModel(`states must be ${stateCount}, found ${next}`);
  if (firstArc[stateCount] !== arcCount) throw brokenLanguageModel("its arcs do not add up");
  return { firstArc, targets, suffix };
}

/** Binary logarithm of a whole number; in 16ths, or with no `drop` in 256ths. */
function logOf(logs: Uint8Array, value: number, drop = 4): number {
  const whole = Math.max(1, value);
  const exponent = 31 - Math.clz32(whole);
  const mantissa = exponent >= 8 ? (whole >>> (exponent - 8)) & 255 : (whole << (8 - exponent)) & 255;
  return ((exponent << 8) + logs[mantissa]!) >> drop;
}

/** The file's own steps; whole numbers, so that every reader makes the same guesses. */
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

/** Arcs of a state stand by token; those of each level come so already. */
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
