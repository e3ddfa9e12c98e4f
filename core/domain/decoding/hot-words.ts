/** A word or phrase to prefer, in letters of the model's alphabet and single spaces. */
export interface HotWord {
  readonly text: string;
  /** Bonus of every matched character, natural log, 0 or more. */
  readonly characterScore: number;
}

const NO_MATCH = 0;
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
 * Hot words as an automaton over output tokens. They match from the start of a word, and stay matched when
 * letters follow, so a stem is also found with its endings.
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

  private constructor(nodes: readonly TrieNode[]) {
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
    const root = newNode(0);
    const start = newNode(0);
    root.children.set(vocabulary.indexOf(" "), start);
    for (const word of words) addWord(start, word, vocabulary);
    return new HotWords(breadthFirst(root));
  }

  /** State after `token`. */
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

function addWord(start: TrieNode, word: HotWord, vocabulary: readonly string[]): void {
  let node = start;
  for (const character of word.text) {
    const token = vocabulary.indexOf(character);
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
