import { brokenLanguageModel } from "./broken-language-model.js";
import {
  BIT_CONTEXTS,
  GAPS,
  type StateCoder,
  type StateLinks,
  SYMBOL_CONTEXTS,
  walkStates,
} from "./packed-states.js";
import { SHARE_BITS, SYMBOLS, SymbolReader } from "./packed-symbols.js";
import type { SectionReader } from "./section-reader.js";

/**
 * Maximum number of arcs, states or words per byte, which bounds the memory of a file; ours has fewer than
 * one.
 */
const MAX_PER_BYTE = 8;

/**
 * Unpacks the sections of a file to those of a plain one, with zeros for the log-probs of words, and the
 * links between its states.
 *
 * @param reader positioned after the header
 * @throws {ServiceError} `MODEL_BROKEN`
 */
export function unpackSections(
  header: {
    readonly nodeCount: number;
    readonly arcCount: number;
    readonly wordCount: number;
    readonly vocabulary: readonly string[];
  },
  reader: SectionReader,
): { sections: Uint8Array; links: StateLinks } {
  const { nodeCount, arcCount, wordCount, vocabulary } = header;
  const books = reader.bytes(2 * 1_024);
  for (const [name, count] of Object.entries({ nodeCount, arcCount, wordCount })) {
    const most = MAX_PER_BYTE * reader.rest.length;
    if (Number.isInteger(count) && count >= 0 && count <= most) continue;
    throw brokenLanguageModel(`${name} must be 0 to ${most}, found ${count}`);
  }
  const scales = { masses: reader.words(256), logs: reader.bytes(256) };
  const bitShares = reader.shorts(BIT_CONTEXTS);
  const shares = reader.shorts(SYMBOL_CONTEXTS * SYMBOLS);
  const symbols = new SymbolReader(bitShares, shares, reader.shorts(reader.rest.length >> 1));
  const gapBytes = wordCount * 4;
  const plain = new Uint8Array(3 * 1_024 + gapBytes + 2 * arcCount + 2 * nodeCount + wordCount);
  plain.set(books);
  let position = 3 * 1_024;
  const take = (count: number) => {
    position += count;
    return plain.subarray(position - count, position);
  };
  walkGaps(symbols, new Uint32Array(take(gapBytes).buffer, 3 * 1_024, wordCount));
  const [tokens, codes, counts, backoffs] = [
    take(arcCount),
    take(arcCount),
    take(nodeCount),
    take(nodeCount),
  ];
  const codeBooks = new Float32Array(plain.buffer, 0, 512);
  const tables = {
    ...{ tokens, codes, counts, backoffs },
    ...{ logProbCodes: codeBooks.subarray(0, 256), backoffCodes: codeBooks.subarray(256), ...scales },
  };
  const links = walkStates(symbols, tables, vocabulary.length);
  if (!symbols.isAtEnd) throw brokenLanguageModel("its contents are inconsistent");
  return { sections: plain, links };
}

/**
 * Codes gaps between word hashes: their bit lengths, then all bits but the first.
 * @public for the packing recipe
 */
export function walkGaps(coder: StateCoder, gaps: Uint32Array): void {
  for (let word = 0; word < gaps.length; word++) {
    const known = gaps[word]!;
    const bits = coder.symbol(GAPS, 32 - Math.clz32(known));
    if (bits > 32) throw brokenLanguageModel("its words are not in order");
    let gap = bits === 0 ? 0 : 1;
    for (let left = bits - 1; left > 0; ) {
      const some = Math.min(SHARE_BITS, left);
      left -= some;
      gap = gap * 2 ** some + coder.raw(some, (known >>> left) & ((1 << some) - 1));
    }
    gaps[word] = gap;
  }
}
