/** A word or phrase to prefer, in letters of the model's alphabet and single spaces. */
export interface HotWord {
  readonly text: string;
  /** Bonus of every matched character, natural log, 0 or more. */
  readonly characterScore: number;
}

/** Most hot words of a request. */
export const MOST_HOT_WORDS = 100;

const NO_MATCH = 0;
/** A character of a word piece that no hot word has. */
const OTHER = 0;
/** The start of a word, where every hot word may start. */
const WORD_START = 1;

interface TrieNode {
  readonly children: Map<number, TrieNode>;
  readonly depth: number;
  /** Highest character score of the hot words with this prefix. */
  characterScore: number;
  /** Score of the best hot word that is complete here; 0 without one. */
  earned: number;
  isWord: boolean;
  index: number;
}

/**
 * Share of a letter's score when outputs are word pieces, which the search weighs as a whole: 1.5 for a piece
 * of three letters, sherpa-onnx's default.
 */
const PIECE_SHARE = 0.5;
/** Longest table of the characters in hot words: `arcTokens` holds bytes. */
const MOST_CHARACTERS = 255;

/**
 * Hot words as an automaton over output tokens, or over their characters if tokens are word pieces: then a
 * match does not depend on how the model splits a word into pieces. They match from the start of a word, and
 * stay matched when letters follow, so a stem is also found with its endings.
 *
 * A path earns each character's score when it matches. The score of an incomplete word is a credit, taken
 * back when the next token or the end of the text breaks the match; the score of a complete word is kept.
 *
 * @see Aho and Corasick, 1975
 */
export class HotWords {
  readonly startState = WORD_START;
  /** Arcs of a state are `firstArc[state]` to `firstArc[state + 1]`, sorted by token. */
  readonly firstArc: Int32Array;
  readonly arcTokens: Uint8Array;
  readonly arcTargets: Int32Array;
  /** The longest proper suffix of a state that is a prefix of a hot word. */
  readonly suffix: Int32Array;
  /** Score kept on entering a state. */
  readonly gain: Float64Array;
  /** Score of a state's incomplete match. */
  readonly credit: Float64Array;

  /** `[vocabulary]`: tokens of the automaton that each output adds; null if each output is one. */
  readonly #pieces: readonly (readonly number[])[] | null;
  #stepScore = 0;

  private constructor(nodes: readonly TrieNode[], pieces: readonly (readonly number[])[] | null) {
    this.#pieces = pieces;
    const arcCount = nodes.length - 1;
    this.firstArc = new Int32Array(nodes.length + 1);
    this.arcTokens = new Uint8Array(arcCount);
    this.arcTargets = new Int32Array(arcCount);
    this.suffix = new Int32Array(nodes.length);
    this.gain = new Float64Array(nodes.length);
    this.credit = new Float64Array(nodes.length);
    let arc = 0;
    for (const node of nodes) {
      this.firstArc[node.index] = arc;
      for (const [token, child] of sortedChildren(node)) {
        this.arcTokens[arc] = token;
        this.arcTargets[arc++] = child.index;
      }
    }
    this.firstArc[nodes.length] = arc;
    this.#link(nodes);
  }

  /**
   * @returns null without hot words
   * @throws {RangeError} for a character outside the vocabulary
   */
  static compile(words: readonly HotWord[], vocabulary: readonly string[]): HotWords | null {
    if (words.length === 0) return null;
    const alphabet = spellsLetters(vocabulary) ? null : alphabetIn(words, vocabulary);
    const tokenOf = (character: string) => alphabet?.get(character) ?? vocabulary.indexOf(character);
    const root = newNode(0);
    const start = newNode(0);
    root.children.set(tokenOf(" "), start);
    for (const word of words) {
      const characterScore = word.characterScore * (alphabet === null ? 1 : PIECE_SHARE);
      addWord(start, { ...word, characterScore }, tokenOf);
    }
    const piecesOf = (known: ReadonlyMap<string, number>) =>
      vocabulary.map((piece) => [...piece.toLowerCase()].map((character) => known.get(character) ?? OTHER));
    return new HotWords(breadthFirst(root), alphabet === null ? null : piecesOf(alphabet));
  }

  /** Returns the state after an output, and sets `stepScore`. */
  step(state: number, output: number): number {
    if (this.#pieces === null) {
      const next = this.advance(state, output);
      this.#stepScore = this.scoreOf(state, next);
      return next;
    }
    let at = state;
    this.#stepScore = 0;
    for (const token of this.#pieces[output]!) {
      const next = this.advance(at, token);
      this.#stepScore += this.scoreOf(at, next);
      at = next;
    }
    return at;
  }

  /** Change of a text's score by the last `step`. */
  get stepScore(): number {
    return this.#stepScore;
  }

  /** State after `token` of the automaton; for outputs, see `step`. */
  advance(state: number, token: number): number {
    for (let at = state; ; at = this.suffix[at]!) {
      for (let arc = this.firstArc[at]!; arc < this.firstArc[at + 1]!; arc++) {
        if (this.arcTokens[arc] === token) return this.arcTargets[arc]!;
      }
      if (at === NO_MATCH) return NO_MATCH;
    }
  }

  /** Returns the change of a text's score from one state to the next. */
  scoreOf(from: number, to: number): number {
    return this.gain[to]! + this.credit[to]! - this.credit[from]!;
  }

  /** Computes suffixes breadth-first, each from its parent's, and the scores. */
  #link(nodes: readonly TrieNode[]): void {
    /** The longest complete word at the end of a state, or -1. */
    const complete = new Int32Array(nodes.length).fill(-1);
    const earnedOnArc = new Float64Array(nodes.length);
    for (const node of nodes) {
      for (const [token, child] of node.children) {
        this.suffix[child.index] =
          node.index === NO_MATCH ? NO_MATCH : this.advance(this.suffix[node.index]!, token);
        earnedOnArc[child.index] = child.earned - node.earned;
      }
      complete[node.index] = node.isWord ? node.index : complete[this.suffix[node.index]!]!;
      const word = complete[node.index]!;
      this.gain[node.index] = word < 0 ? 0 : earnedOnArc[word]!;
      this.credit[node.index] = Math.max(0, node.characterScore * node.depth - node.earned);
    }
  }
}

function newNode(depth: number): TrieNode {
  return { children: new Map(), depth, characterScore: 0, earned: 0, isWord: false, index: 0 };
}

/** Each output is a character, or nothing. */
function spellsLetters(vocabulary: readonly string[]): boolean {
  return vocabulary.every((output) => [...output].length <= 1);
}

/** Numbers the space and the characters of hot words that the vocabulary has, from 1. */
function alphabetIn(words: readonly HotWord[], vocabulary: readonly string[]): Map<string, number> {
  const known = new Set(vocabulary.join("").toLowerCase());
  const used = new Set([" ", ...words.flatMap(({ text }) => [...text])].filter((one) => known.has(one)));
  if (used.size > MOST_CHARACTERS) {
    throw new RangeError(`hot words must have at most ${MOST_CHARACTERS} different letters`);
  }
  return new Map([...used].map((character, index) => [character, index + 1]));
}

function addWord(start: TrieNode, word: HotWord, tokenOf: (character: string) => number): void {
  let node = start;
  for (const character of word.text) {
    const token = tokenOf(character);
    if (token <= 0) throw new RangeError("a hot word must be written in the model's alphabet");
    let child = node.children.get(token);
    if (child === undefined) {
      child = newNode(node.depth + 1);
      node.children.set(token, child);
    }
    child.characterScore = Math.max(child.characterScore, word.characterScore);
    node = child;
  }
  node.isWord = true;
  node.earned = Math.max(node.earned, word.characterScore * node.depth);
}

/** Numbers the nodes, and passes the score of shorter words down to longer ones that start with them. */
function breadthFirst(root: TrieNode): TrieNode[] {
  const nodes = [root];
  for (let index = 0; index < nodes.length; index++) {
    const node = nodes[index]!;
    node.index = index;
    for (const [, child] of sortedChildren(node)) {
      child.earned = Math.max(child.earned, node.earned);
      nodes.push(child);
    }
  }
  return nodes;
}

function sortedChildren(node: TrieNode): [number, TrieNode][] {
  return [...node.children].sort(([a], [b]) => a - b);
}
