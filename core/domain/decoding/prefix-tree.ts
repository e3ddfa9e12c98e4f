const NONE = -1;

/**
 * All prefixes that a search has kept, as a tree in typed arrays: a node is its parent's text plus one token,
 * and equal texts share a node. Grows by doubling; a reset keeps the memory.
 */
export class PrefixTree {
  parent = new Int32Array(0);
  /** Last token; 0 at the root. */
  token = new Uint8Array(0);
  /** Language model state after the prefix. */
  state = new Uint32Array(0);
  /** Hash of the letters since the last space. */
  wordHash = new Uint32Array(0);
  /** State of the hot words' automaton after the prefix; 0 without hot words. */
  hotState = new Int32Array(0);
  /** Score of the prefix's text, without its acoustic score. */
  textScore = new Float64Array(0);
  /** Index in the current beam, or -1. */
  beamIndex = new Int32Array(0);
  #count = 0;
  /** Hash table with open addressing: node + 1, or 0 for free. */
  #table = new Int32Array(0);

  constructor(capacity = 1024) {
    this.#grow(capacity);
  }

  /** Drops every node and creates the root, which is node 0. */
  reset(rootState: number, emptyWordHash: number, hotState: number): void {
    this.#table.fill(0);
    this.#count = 1;
    this.parent[0] = NONE;
    this.token[0] = 0;
    this.state[0] = rootState;
    this.wordHash[0] = emptyWordHash;
    this.hotState[0] = hotState;
    this.textScore[0] = 0;
    this.beamIndex[0] = NONE;
  }

  /** The node of `parent` plus `token`, or -1. */
  find(parent: number, token: number): number {
    const mask = this.#table.length - 1;
    for (let at = hashOf(parent, token) & mask; ; at = (at + 1) & mask) {
      const node = this.#table[at]! - 1;
      if (node < 0 || (this.parent[node] === parent && this.token[node] === token)) return node;
    }
  }

  /** Adds a node that `find` did not know. */
  add(
    parent: number,
    token: number,
    state: number,
    wordHash: number,
    hotState: number,
    textScore: number,
  ): number {
    if (this.#count === this.parent.length) this.#grow(this.#count * 2);
    const node = this.#count++;
    this.parent[node] = parent;
    this.token[node] = token;
    this.state[node] = state;
    this.wordHash[node] = wordHash;
    this.hotState[node] = hotState;
    this.textScore[node] = textScore;
    this.beamIndex[node] = NONE;
    this.#insert(node);
    return node;
  }

  /** Tokens from the root to `node`. */
  tokensOf(node: number): number[] {
    const tokens: number[] = [];
    for (let at = node; at > 0; at = this.parent[at]!) tokens.push(this.token[at]!);
    return tokens.reverse();
  }

  #insert(node: number): void {
    const mask = this.#table.length - 1;
    let at = hashOf(this.parent[node]!, this.token[node]!) & mask;
    while (this.#table[at] !== 0) at = (at + 1) & mask;
    this.#table[at] = node + 1;
  }

  #grow(capacity: number): void {
    this.parent = grown(this.parent, new Int32Array(capacity));
    this.token = grown(this.token, new Uint8Array(capacity));
    this.state = grown(this.state, new Uint32Array(capacity));
    this.wordHash = grown(this.wordHash, new Uint32Array(capacity));
    this.hotState = grown(this.hotState, new Int32Array(capacity));
    this.textScore = grown(this.textScore, new Float64Array(capacity));
    this.beamIndex = grown(this.beamIndex, new Int32Array(capacity));
    let tableSize = 1;
    while (tableSize < capacity * 2) tableSize *= 2;
    this.#table = new Int32Array(tableSize);
    for (let node = 1; node < this.#count; node++) this.#insert(node);
  }
}

function hashOf(parent: number, token: number): number {
  const mixed = Math.imul(parent * 128 + token, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}

function grown<T extends Int32Array | Uint32Array | Uint8Array | Float64Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
