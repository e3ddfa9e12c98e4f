import { brokenLanguageModel } from "./broken-language-model.js";

/** Denominator of all probabilities. @public for the packing recipe */
export const SHARES = 1_024;
export const SHARE_BITS = 10;
/** Lower bound of the coder's state, which has at most 16 bits more. @public for the packing recipe */
export const LEAST_STATE = 1 << 15;
/** Symbols of a context. */
export const SYMBOLS = 256;

/**
 * Reads entropy-coded symbols, each kind in its own context.
 *
 * @see Duda, 2014, "Asymmetric numeral systems" (range variant); written by
 * `models/recipes/language-model/pack.mjs`
 */
export class SymbolReader {
  readonly isWriting = false;
  readonly #bitShares: Uint16Array;
  readonly #shares: Uint16Array;
  readonly #starts: Uint16Array;
  /** The symbol for every share of every context. */
  readonly #symbols: Uint8Array;
  readonly #words: Uint16Array;
  #position = 2;
  #state: number;

  /**
   * @param bitShares share of zero for each bit context
   * @param shares `[contexts, SYMBOLS]`
   * @throws {ServiceError} `MODEL_BROKEN` here and where symbols are read
   */
  constructor(bitShares: Uint16Array, shares: Uint16Array, words: Uint16Array) {
    this.#bitShares = bitShares;
    this.#shares = shares;
    this.#words = words;
    if (bitShares.some((share) => share > SHARES)) throw brokenLanguageModel("its shares do not add up");
    this.#starts = new Uint16Array(shares.length);
    this.#symbols = new Uint8Array((shares.length / SYMBOLS) * SHARES);
    for (let context = 0; context * SYMBOLS < shares.length; context++) this.#prepare(context);
    this.#state = ((words[0] ?? 0) << 16) | (words[1] ?? 0);
  }

  /** Whether everything was read, and consistently. */
  get isAtEnd(): boolean {
    return this.#position === this.#words.length && this.#state === LEAST_STATE;
  }

  symbol(context: number): number {
    const state = this.#state;
    const share = state & (SHARES - 1);
    const symbol = this.#symbols[context * SHARES + share]!;
    const at = context * SYMBOLS + symbol;
    this.#advance(this.#shares[at]! * (state >>> SHARE_BITS) + share - this.#starts[at]!);
    return symbol;
  }

  bit(context: number): number {
    const state = this.#state;
    const share = state & (SHARES - 1);
    const zero = this.#bitShares[context]!;
    if (share < zero) {
      this.#advance(zero * (state >>> SHARE_BITS) + share);
      return 0;
    }
    this.#advance((SHARES - zero) * (state >>> SHARE_BITS) + share - zero);
    return 1;
  }

  /** Reads an unmodelled number of at most `SHARE_BITS` bits. */
  raw(bits: number): number {
    const state = this.#state;
    const share = state & (SHARES - 1);
    const rest = SHARE_BITS - bits;
    this.#advance((state >>> SHARE_BITS) * (1 << rest) + (share & ((1 << rest) - 1)));
    return share >>> rest;
  }

  #advance(state: number): void {
    if (state >= LEAST_STATE) {
      this.#state = state;
      return;
    }
    const word = this.#words[this.#position++];
    if (word === undefined) throw brokenLanguageModel("it is cut short");
    this.#state = (state << 16) | word;
  }

  #prepare(context: number): void {
    let start = 0;
    for (let symbol = 0; symbol < SYMBOLS; symbol++) {
      const at = context * SYMBOLS + symbol;
      const share = this.#shares[at]!;
      this.#starts[at] = start;
      if (start + share > SHARES) throw brokenLanguageModel("its shares do not add up");
      if (share > 0) this.#symbols.fill(symbol, context * SHARES + start, context * SHARES + start + share);
      start += share;
    }
  }
}
