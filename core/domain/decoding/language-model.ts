import { brokenLanguageModel } from "./broken-language-model.js";
import { Lexicon } from "./lexicon.js";
import { unpackSections } from "./packed-model.js";
import type { StateLinks } from "./packed-states.js";
import { SectionReader } from "./section-reader.js";

/** Plain files are version 1, packed ones 2. */
const MAGICS = ["DLM1", "DLM2"];
/** A state and its 8-bit log-prob code share one word, so there may be at most 2^24 states. */
const MAX_STATES = 1 << 24;

/** A language model over output tokens; 0 is the sentence boundary. */
export interface TokenModel {
  /** State at the start of a sentence. */
  readonly startState: number;
  /** Log-prob of the token of the last `advance`, natural log. */
  readonly logProb: number;
  /** State after `token`; leaves the token's log-prob in `logProb`. Allocates nothing. */
  advance(state: number, token: number): number;
  /** Whether the word with this hash (see `extendWordHash`) is in the lexicon. */
  hasWord(wordHash: number): boolean;
}

/** The first part of a model file. */
export interface LanguageModelHeader {
  readonly version: number;
  readonly order: number;
  readonly vocabulary: readonly string[];
  readonly nodeCount: number;
  readonly arcCount: number;
  readonly wordCount: number;
}

/**
 * A character n-gram model as a back-off automaton in typed arrays. A state is the longest history with
 * continuations in the model, an arc leads to the state after its token, and a failed look-up continues at
 * the state's suffix.
 *
 * @see Allauzen, Mohri and Roark, 2003. The file is written by `models/recipes/language-model/train.py`.
 */
export class LanguageModel implements TokenModel {
  readonly order: number;
  readonly vocabulary: readonly string[];
  readonly startState: number;
  readonly lexicon: Lexicon;
  logProb = 0;
  readonly #firstArc: Uint32Array;
  readonly #suffix: Uint32Array;
  readonly #backoff: Uint8Array;
  readonly #tokens: Uint8Array;
  /** Next state in the upper 24 bits, log-prob code in the lower 8. */
  readonly #targets: Uint32Array;
  readonly #logProbCodes: Float64Array;
  readonly #backoffCodes: Float64Array;

  private constructor(header: LanguageModelHeader, sections: Uint8Array, links: StateLinks | null) {
    const reader = new SectionReader(sections);
    const { nodeCount, arcCount, wordCount } = header;
    this.order = header.order;
    this.vocabulary = header.vocabulary;
    this.#logProbCodes = Float64Array.from(reader.floats(256));
    this.#backoffCodes = Float64Array.from(reader.floats(256));
    // Skip the log-probs of words: the search only checks whether a word is known.
    reader.floats(256);
    const gaps = reader.words(wordCount);
    // Copy the tokens, so that the file's bytes can be freed. Their upper bit marks n-grams that are states.
    this.#tokens = reader.bytes(arcCount).slice();
    const codes = reader.bytes(arcCount);
    const counts = reader.bytes(nodeCount);
    this.#backoff = reader.bytes(nodeCount).slice();
    reader.bytes(wordCount);
    this.lexicon = Lexicon.fromGaps(gaps);
    if (links === null) {
      this.#firstArc = runStarts(counts, arcCount);
      ({ targets: this.#targets, suffix: this.#suffix } = linkStates(this.#firstArc, this.#tokens, codes));
    } else {
      ({ firstArc: this.#firstArc, targets: this.#targets, suffix: this.#suffix } = links);
      for (let arc = 0; arc < arcCount; arc++) this.#tokens[arc]! &= 127;
    }
    this.startState = this.advance(0, 0);
    this.logProb = 0;
  }

  /**
   * @param bytes the model file after gunzip
   * @throws {ServiceError} `MODEL_BROKEN` when it is truncated, or of another format or version
   */
  static parse(bytes: Uint8Array): LanguageModel {
    const { header, sections } = readLanguageModelHeader(bytes);
    if (header.version === 1) return new LanguageModel(header, sections, null);
    const unpacked = unpackSections(header, new SectionReader(sections));
    return new LanguageModel(header, unpacked.sections, unpacked.links);
  }

  /** Bytes held by the tables. */
  get memoryBytes(): number {
    const tables = [this.#firstArc, this.#suffix, this.#backoff, this.#tokens, this.#targets];
    return tables.reduce((sum, table) => sum + table.byteLength, this.lexicon.memoryBytes);
  }

  advance(state: number, token: number): number {
    let backoff = 0;
    let at = state;
    for (;;) {
      const arc = at === 0 ? token : this.#findArc(at, token);
      if (arc >= 0) {
        const target = this.#targets[arc]!;
        this.logProb = backoff + this.#logProbCodes[target & 255]!;
        return target >>> 8;
      }
      backoff += this.#backoffCodes[this.#backoff[at]!]!;
      at = this.#suffix[at]!;
    }
  }

  hasWord(wordHash: number): boolean {
    return this.lexicon.has(wordHash);
  }

  /** Index of the state's arc with this token, or -1. */
  #findArc(state: number, token: number): number {
    const tokens = this.#tokens;
    let low = this.#firstArc[state]!;
    let high = this.#firstArc[state + 1]!;
    while (high - low > 4) {
      const middle = (low + high) >>> 1;
      if (tokens[middle]! <= token) low = middle;
      else high = middle;
    }
    for (let arc = low; arc < high; arc++) if (tokens[arc] === token) return arc;
    return -1;
  }
}

/**
 * Reads the header of a model file, and returns it with the rest.
 * @param bytes the model file after gunzip
 * @throws {ServiceError} `MODEL_BROKEN` for another format or version
 */
export function readLanguageModelHeader(bytes: Uint8Array): {
  header: LanguageModelHeader;
  sections: Uint8Array;
} {
  const reader = new SectionReader(bytes);
  const magic = String.fromCharCode(...reader.bytes(4));
  const magicVersion = MAGICS.indexOf(magic) + 1;
  if (magicVersion === 0)
    throw brokenLanguageModel(`it must start with ${MAGICS.join(" or ")}, found ${JSON.stringify(magic)}`);
  let header: LanguageModelHeader;
  try {
    header = JSON.parse(new TextDecoder().decode(reader.bytes(reader.words(1)[0]!)));
  } catch (error) {
    throw brokenLanguageModel("its header cannot be read", error);
  }
  if (header.version !== magicVersion) {
    throw brokenLanguageModel(`version must be ${magicVersion}, found ${header.version}`);
  }
  if (!(header.nodeCount > 0 && header.nodeCount < MAX_STATES)) {
    throw brokenLanguageModel(`nodeCount must be 1 to ${MAX_STATES - 1}, found ${header.nodeCount}`);
  }
  return { header, sections: reader.rest };
}

/** @throws {ServiceError} `MODEL_BROKEN` when a recognizer and its language model have different outputs */
export function requireVocabulary(
  model: { readonly vocabulary: readonly string[] },
  vocabulary: readonly string[],
): void {
  const different = vocabulary.findIndex((output, token) => output !== model.vocabulary[token]);
  if (different < 0 && model.vocabulary.length === vocabulary.length) return;
  const found = `${model.vocabulary.length} outputs against ${vocabulary.length}`;
  throw brokenLanguageModel(`its vocabulary must match the recogniser's, found ${found}`);
}

/** Returns the first arc of every state, and the end of the last. */
function runStarts(counts: Uint8Array, arcCount: number): Uint32Array {
  const starts = new Uint32Array(counts.length + 1);
  for (let i = 0; i < counts.length; i++) starts[i + 1] = starts[i]! + counts[i]!;
  if (starts[counts.length] !== arcCount) {
    throw brokenLanguageModel(`arcs must add up to ${arcCount}, found ${starts[counts.length]}`);
  }
  return starts;
}

/**
 * Computes the targets of arcs and the suffixes of states. States are in breadth-first order, so a suffix,
 * being shorter, is complete before it is used. Clears the state bit of `tokens`.
 */
function linkStates(
  firstArc: Uint32Array,
  tokens: Uint8Array,
  codes: Uint8Array,
): { targets: Uint32Array; suffix: Uint32Array } {
  const stateCount = firstArc.length - 1;
  const targets = new Uint32Array(tokens.length);
  const suffix = new Uint32Array(stateCount);
  let nextState = 1;
  for (let state = 0; state < stateCount; state++) {
    const shorter = suffix[state]!;
    let other = firstArc[shorter]!;
    const otherEnd = firstArc[shorter + 1]!;
    for (let arc = firstArc[state]!; arc < firstArc[state + 1]!; arc++) {
      const isState = tokens[arc]! >= 128;
      const token = tokens[arc]! & 127;
      tokens[arc] = token;
      let shorterTarget = 0;
      if (state !== 0) {
        while (other < otherEnd && tokens[other]! < token) other++;
        shorterTarget =
          other < otherEnd && tokens[other] === token
            ? targets[other]! >>> 8
            : targetFrom(suffix[shorter]!, token, firstArc, tokens, targets, suffix);
      }
      if (isState) suffix[nextState] = shorterTarget;
      targets[arc] = ((isState ? nextState++ : shorterTarget) << 8) | codes[arc]!;
    }
  }
  if (nextState !== stateCount) throw brokenLanguageModel(`states must be ${stateCount}, found ${nextState}`);
  return { targets, suffix };
}

function targetFrom(
  from: number,
  token: number,
  firstArc: Uint32Array,
  tokens: Uint8Array,
  targets: Uint32Array,
  suffix: Uint32Array,
): number {
  for (let state = from; state !== 0; state = suffix[state]!) {
    for (let arc = firstArc[state]!; arc < firstArc[state + 1]!; arc++) {
      if (tokens[arc] === token) return targets[arc]! >>> 8;
    }
  }
  return targets[token]! >>> 8;
}
