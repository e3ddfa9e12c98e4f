import { CharacterMap } from "./character-map.js";
import { PIECE, readTokenizerModel } from "./tokenizer-model.js";

/** Marks the start of a word. */
export const SPACE = "▁";
/** Log-prob of an unknown character below that of the least likely piece. */
const UNKNOWN_PENALTY = 10;

/** A piece of a text, and its row in the model's vocabulary. */
export interface Token {
  readonly id: number;
  /** The normalized text, with ▁ for a space before it. */
  readonly text: string;
}

/**
 * Splits text into the pieces of a SentencePiece unigram model, as its own library does.
 *
 * @see Kudo, 2018, "Subword regularization"
 */
export class UnigramTokenizer {
  readonly bosId: number;
  readonly eosId: number;
  /** Number of pieces. */
  readonly size: number;
  readonly #ids = new Map<string, number>();
  readonly #scores: Float32Array;
  readonly #unknownId: number;
  readonly #unknownScore: number;
  readonly #longest: number;
  readonly #map: CharacterMap | null;
  readonly #addsDummyPrefix: boolean;
  readonly #removesExtraSpaces: boolean;

  /** @throws {RangeError} if the bytes are not a model of this kind */
  constructor(bytes: Uint8Array) {
    const model = readTokenizerModel(bytes);
    const { pieces, characterMap } = model;
    const idOf = (text: string) => {
      const id = pieces.findIndex((piece) => piece.text === text);
      if (id < 0) throw new RangeError(`it has no piece "${text}"`);
      return id;
    };
    this.size = pieces.length;
    this.bosId = idOf(model.bos);
    this.eosId = idOf(model.eos);
    this.#unknownId = pieces.findIndex(({ type }) => type === PIECE.unknown);
    if (this.#unknownId < 0) throw new RangeError("it has no piece for unknown characters");
    const normal = pieces.filter(({ type }) => type === PIECE.normal).map(({ score }) => score);
    const [least, most] = [normal.reduce((a, b) => Math.min(a, b)), normal.reduce((a, b) => Math.max(a, b))];
    this.#unknownScore = Math.fround(least - UNKNOWN_PENALTY);
    this.#scores = new Float32Array(pieces.length);
    let longest = 0;
    for (const [id, { text, score, type }] of pieces.entries()) {
      if (type !== PIECE.normal && type !== PIECE.userDefined) continue;
      this.#ids.set(text, id);
      this.#scores[id] = type === PIECE.normal ? score : Buffer.byteLength(text) * most - 0.1;
      longest = Math.max(longest, text.length);
    }
    this.#longest = longest;
    this.#map = characterMap.length === 0 ? null : new CharacterMap(characterMap);
    this.#addsDummyPrefix = model.addsDummyPrefix;
    this.#removesExtraSpaces = model.removesExtraSpaces;
  }

  /** Returns the most likely pieces of a text; unknown characters in a row are one piece. */
  encode(text: string): Token[] {
    const normalized = this.normalize(text);
    const tokens: Token[] = [];
    for (const token of this.#best(normalized)) {
      const previous = tokens.at(-1);
      if (token.id === this.#unknownId && previous?.id === this.#unknownId) {
        tokens[tokens.length - 1] = { id: token.id, text: previous.text + token.text };
      } else tokens.push(token);
    }
    return tokens;
  }

  /** Returns the text in the characters of the pieces, with ▁ for spaces. */
  normalize(text: string): string {
    const parts = this.#map?.parts(text) ?? [...text];
    let first = 0;
    if (this.#removesExtraSpaces) while (parts[first] === " ") first++;
    if (first === parts.length) return "";
    let normalized = this.#addsDummyPrefix ? SPACE : "";
    let isAfterSpace = this.#removesExtraSpaces;
    for (const part of parts.slice(first)) {
      const kept = isAfterSpace ? part.replace(/^ +/, "") : part;
      if (kept === "") continue;
      normalized += kept.replaceAll(" ", SPACE);
      isAfterSpace = this.#removesExtraSpaces && kept.endsWith(" ");
    }
    if (!this.#removesExtraSpaces) return normalized;
    let end = normalized.length;
    while (end > 0 && normalized[end - 1] === SPACE) end--;
    return normalized.slice(0, end);
  }

  /** Finds the path of highest score (Viterbi), in single precision as the reference does. */
  #best(text: string): Token[] {
    const size = text.length;
    const scores = new Float32Array(size + 1).fill(Number.NEGATIVE_INFINITY);
    const starts = new Int32Array(size + 1).fill(-1);
    const ids = new Int32Array(size + 1);
    scores[0] = 0;
    const offer = (from: number, to: number, id: number, score: number) => {
      const total = Math.fround(scores[from]! + score);
      if (starts[to] !== -1 && total <= scores[to]!) return;
      [scores[to], starts[to], ids[to]] = [total, from, id];
    };
    for (let from = 0; from < size; ) {
      const character = from + (text.codePointAt(from)! > 0xffff ? 2 : 1);
      let isKnown = false;
      for (let to = from + 1; to <= Math.min(size, from + this.#longest); to++) {
        const id = this.#ids.get(text.slice(from, to));
        if (id === undefined) continue;
        offer(from, to, id, this.#scores[id]!);
        isKnown ||= to === character;
      }
      if (!isKnown) offer(from, character, this.#unknownId, this.#unknownScore);
      from = character;
    }
    const tokens: Token[] = [];
    for (let to = size; to > 0; to = starts[to]!)
      tokens.push({ id: ids[to]!, text: text.slice(starts[to], to) });
    return tokens.reverse();
  }
}
