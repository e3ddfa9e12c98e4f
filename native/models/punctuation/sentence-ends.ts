import { product } from "../../../core/domain/matrix-product.js";
import { loadBinding } from "../../beam/binding.js";
import { WORD_WIDTH, WordWeights } from "./word-weights.js";

const multiply = loadBinding().binding?.product ?? product;

const SIZE = 128;
/** Reset, update and candidate of a GRU cell, in this order. */
const GATES = 3;

/**
 * The causal half of the punctuation model: estimates the probability that a sentence is complete, from the
 * words so far alone.
 *
 * A word costs 83,000 multiplications, about 0.1 ms of a core; replacing the last word, as partials do, costs
 * 34,000. It is synchronous, so that an endpointer can call it between two frames.
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

  constructor(words: WordWeights = new WordWeights()) {
    this.#words = words;
    this.#inputWeights = words.floats("input_weights");
    this.#stateWeights = words.floats("state_weights");
    this.#inputBiases = words.floats("input_biases");
    this.#stateBiases = words.floats("state_biases");
    this.#endWeights = words.floats("end_weights");
    this.#endBias = words.floats("end_bias")[0]!;
  }

  /** Returns the state before the first word of a text. */
  start(): Place {
    return { state: new Float32Array(SIZE), gates: null };
  }

  /** Returns the state after one more word; the given state stays valid. */
  after(place: Place, word: string): Place {
    this.#words.embed(word, this.#embedded, 0);
    multiply(this.#inputWeights, this.#embedded, this.#fromInput);
    add(this.#inputBiases, this.#fromInput);
    const fromState = this.#gatesOf(place);
    const { state } = place;
    const next = new Float32Array(SIZE);
    for (let at = 0; at < SIZE; at++) {
      const reset = sigmoid(this.#fromInput[at]! + fromState[at]!);
      const update = sigmoid(this.#fromInput[SIZE + at]! + fromState[SIZE + at]!);
      const candidate = Math.tanh(this.#fromInput[2 * SIZE + at]! + reset * fromState[2 * SIZE + at]!);
      next[at] = (1 - update) * candidate + update * state[at]!;
    }
    return { state: next, gates: null };
  }

  /** Computes the gates once for all words that follow the same text. */
  #gatesOf(place: Place): Float32Array {
    if (place.gates !== null) return place.gates;
    place.gates = new Float32Array(GATES * SIZE);
    multiply(this.#stateWeights, place.state, place.gates);
    add(this.#stateBiases, place.gates);
    return place.gates;
  }

  /** Returns the probability that a sentence ends here. */
  probability({ state }: Place): number {
    let sum = this.#endBias;
    for (let at = 0; at < SIZE; at++) sum += this.#endWeights[at]! * state[at]!;
    return sigmoid(sum);
  }
}

/** The network's state after some words. */
interface Place {
  readonly state: Float32Array;
  /** The state's share of the next word's gates; null until it is needed. */
  gates: Float32Array | null;
}

/** Predicts the end of a sentence in a growing text; reads only its new words. */
export class GrowingSentence {
  readonly #ends: SentenceEnds;
  #words: string[] = [];
  /** The state after each word, and before the first. */
  readonly #places: Place[];

  constructor(ends: SentenceEnds) {
    this.#ends = ends;
    this.#places = [ends.start()];
  }

  /** Returns the probability that the sentence ends with these words; 0 without words. */
  endAfter(words: readonly string[]): number {
    let same = 0;
    while (same < words.length && same < this.#words.length && words[same] === this.#words[same]) same++;
    this.#places.length = same + 1;
    for (const word of words.slice(same)) this.#places.push(this.#ends.after(this.#places.at(-1)!, word));
    this.#words = [...words];
    return words.length === 0 ? 0 : this.#ends.probability(this.#places.at(-1)!);
  }
}

function add(values: Float32Array, to: Float32Array): void {
  for (let at = 0; at < to.length; at++) to[at]! += values[at]!;
}

function sigmoid(value: number): number {
  return 1 / (1 + Math.exp(-value));
}
