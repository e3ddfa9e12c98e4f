import { WORD_WIDTH, WordWeights } from "./word-weights.js";

const SIZE = 128;
/** Reset, update and candidate of a GRU cell, in this order. */
const GATES = 3;

/**
 * The causal half of the punctuation model: how likely a sentence is over, from the words so far alone.
 *
 * A word costs 83,000 multiplications, about 0.1 ms of a core. Synchronous, so that an endpointer can ask it
 * between two frames.
 */
export class SentenceEnds {
  readonly #words: WordWeights;
  readonly #inputWeights: Float32Array;
  readonly #stateWeights: Float32Array;
  readonly #inputBiases: Float32Array;
  readonly #stateBiases: Float32Array;
  readonly #endWeights: Float32Array;
  readonly #endBias: number;
  readonly #embedded = new Float32Array(WORD_WIDTH);
  readonly #fromInput = new Float32Array(GATES * SIZE);
  readonly #fromState = new Float32Array(GATES * SIZE);

  constructor(words: WordWeights = new WordWeights()) {
    this.#words = words;
    this.#inputWeights = words.floats("input_weights");
    this.#stateWeights = words.floats("state_weights");
    this.#inputBiases = words.floats("input_biases");
    this.#stateBiases = words.floats("state_biases");
    this.#endWeights = words.floats("end_weights");
    this.#endBias = words.floats("end_bias")[0]!;
  }

  /** Returns a state before the first word of a text. */
  start(): Float32Array {
    return new Float32Array(SIZE);
  }

  /** Returns the state after one more word; the old one stays valid. */
  after(state: Float32Array, word: string): Float32Array {
    this.#words.embed(word, this.#embedded, 0);
    affine(this.#inputWeights, this.#inputBiases, this.#embedded, this.#fromInput);
    affine(this.#stateWeights, this.#stateBiases, state, this.#fromState);
    const next = new Float32Array(SIZE);
    for (let at = 0; at < SIZE; at++) {
      const reset = sigmoid(this.#fromInput[at]! + this.#fromState[at]!);
      const update = sigmoid(this.#fromInput[SIZE + at]! + this.#fromState[SIZE + at]!);
      const candidate = Math.tanh(this.#fromInput[2 * SIZE + at]! + reset * this.#fromState[2 * SIZE + at]!);
      next[at] = (1 - update) * candidate + update * state[at]!;
    }
    return next;
  }

  /** Returns the probability that a sentence ends here. */
  probability(state: Float32Array): number {
    let sum = this.#endBias;
    for (let at = 0; at < SIZE; at++) sum += this.#endWeights[at]! * state[at]!;
    return sigmoid(sum);
  }
}

/** The end of a sentence in a text that grows: only its new words are read. */
export class GrowingSentence {
  readonly #ends: SentenceEnds;
  #words: string[] = [];
  /** The state after each word, and before the first. */
  readonly #states: Float32Array[];

  constructor(ends: SentenceEnds) {
    this.#ends = ends;
    this.#states = [ends.start()];
  }

  /** Returns the probability that the sentence ends with the last of these words; 0 without words. */
  endAfter(words: readonly string[]): number {
    let same = 0;
    while (same < words.length && same < this.#words.length && words[same] === this.#words[same]) same++;
    this.#states.length = same + 1;
    for (const word of words.slice(same)) this.#states.push(this.#ends.after(this.#states.at(-1)!, word));
    this.#words = [...words];
    return words.length === 0 ? 0 : this.#ends.probability(this.#states.at(-1)!);
  }
}

/** out = weights × input + biases; weights by rows of the input's length. */
function affine(weights: Float32Array, biases: Float32Array, input: Float32Array, out: Float32Array): void {
  const width = input.length;
  for (let row = 0, at = 0; row < out.length; row++) {
    let [even, odd] = [biases[row]!, 0];
    for (let nth = 0; nth < width; nth += 2, at += 2) {
      even += weights[at]! * input[nth]!;
      odd += weights[at + 1]! * input[nth + 1]!;
    }
    out[row] = even + odd;
  }
}

function sigmoid(value: number): number {
  return 1 / (1 + Math.exp(-value));
}
