/** Contents of a small language model file. */
export interface ModelFileOptions {
  readonly vocabulary: readonly string[];
  readonly order: number;
  /** Texts as output tokens. Their n-grams are those of the model. */
  readonly texts: readonly (readonly number[])[];
  /** Seed for the codes of log-probs and weights, so the probabilities need not add up to one. */
  readonly seed: number;
  /** Sorted hashes of the words in the lexicon. */
  readonly wordHashes: readonly number[];
}

/**
 * Writes a model file as the recipe does, before gzip, with the n-grams of a few texts and arbitrary
 * probabilities.
 */
export function modelFile(options: ModelFileOptions): Uint8Array {
  const { vocabulary, order, wordHashes } = options;
  const draw = generator(options.seed);
  const continuations = continuationsOf(options);
  const arcs: { token: number; code: number }[] = [];
  const arcCounts: number[] = [];
  const histories: (readonly number[])[] = [[]];
  for (let state = 0; state < histories.length; state++) {
    const history = histories[state]!;
    const next = [...continuations.get(history.join())!].sort((a, b) => a - b);
    arcCounts.push(next.length);
    for (const token of next) {
      const longer = [...history, token];
      const isState = continuations.has(longer.join());
      if (isState) histories.push(longer);
      arcs.push({ token: token | (isState ? 128 : 0), code: draw(256) });
    }
  }
  const header = {
    ...{ version: 1, order, vocabulary, nodeCount: histories.length, arcCount: arcs.length },
    wordCount: wordHashes.length,
  };
  const text = new TextEncoder().encode(JSON.stringify(header));
  const parts = [
    new TextEncoder().encode("DLM1"),
    bytesOf(Uint32Array.of(text.length)),
    text,
    bytesOf(Float32Array.from({ length: 256 }, (_, code) => -code / 16)),
    bytesOf(Float32Array.from({ length: 256 }, (_, code) => (code - 250) / 64)),
    bytesOf(Float32Array.from({ length: 256 }, (_, code) => -code)),
    bytesOf(Uint32Array.from(wordHashes, (hash, i) => hash - (wordHashes[i - 1] ?? 0))),
    Uint8Array.from(arcs, (arc) => arc.token),
    Uint8Array.from(arcs, (arc) => arc.code),
    Uint8Array.from(arcCounts),
    Uint8Array.from(histories, () => draw(256)),
    Uint8Array.from(wordHashes, () => draw(256)),
  ];
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

/**
 * Returns the tokens that follow each history shorter than the order. Any token can follow the empty history.
 */
function continuationsOf({ vocabulary, order, texts }: ModelFileOptions): Map<string, Set<number>> {
  const continuations = new Map<string, Set<number>>([["", new Set(vocabulary.keys())]]);
  for (const text of texts) {
    const tokens = [0, ...text, 0];
    for (let end = 1; end < tokens.length; end++) {
      for (let start = Math.max(0, end - order + 1); start < end; start++) {
        const history = tokens.slice(start, end).join();
        continuations.set(history, (continuations.get(history) ?? new Set()).add(tokens[end]!));
      }
    }
  }
  return continuations;
}

function generator(seed: number): (limit: number) => number {
  let state = seed >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

function bytesOf(array: Uint32Array | Float32Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
