// Packs a language model: `node pack.mjs PLAIN PACKED [NODE_ROOT]`, after `npm run build`.
//
// PLAIN is version 1 under gzip, as train.py writes it, PACKED version 2 (README.md). The walk over the states is the
// reader's own, so both see the same contexts: once to count symbols in each, then to write them by their shares.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";

const [plainPath, packedPath, root = resolve(import.meta.dirname, "../../..")] = process.argv.slice(2);
const decoding = (file) => import(`${root}/dist/core/domain/decoding/${file}.js`);
const { BIT_CONTEXTS, SYMBOL_CONTEXTS, walkStates } = await decoding("packed-states");
const { LEAST_STATE, SHARES, SHARE_BITS, SYMBOLS } = await decoding("packed-symbols");
const { unpackSections, walkGaps } = await decoding("packed-model");
const { SectionReader } = await decoding("section-reader");

/** Records the walk: kind, context and known value of each symbol. */
class Recorder {
  isWriting = true;
  contexts = new Uint32Array(1 << 20);
  values = new Uint8Array(1 << 20);
  raws = new Uint16Array(1 << 20);
  size = 0;
  bitCounts = new Float64Array(2 * BIT_CONTEXTS);
  symbolCounts = new Float64Array(SYMBOL_CONTEXTS * SYMBOLS);

  bit(context, known) {
    this.bitCounts[2 * context + known]++;
    return this.#note(context, known);
  }

  symbol(context, known) {
    this.symbolCounts[context * SYMBOLS + known]++;
    return this.#note(BIT_CONTEXTS + context, known);
  }

  raw(bits, known) {
    this.#note(BIT_CONTEXTS + SYMBOL_CONTEXTS + bits, 0);
    this.raws[this.size - 1] = known;
    return known;
  }

  #note(context, known) {
    if (this.size === this.contexts.length) {
      for (const name of ["contexts", "values", "raws"]) {
        const larger = new this[name].constructor(2 * this.size);
        larger.set(this[name]);
        this[name] = larger;
      }
    }
    this.contexts[this.size] = context;
    this.values[this.size++] = known;
    return known;
  }
}

/** Converts counts to shares that add up to `SHARES`; every symbol that occurs gets at least one. */
function sharesOf(counts) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return counts.map(() => 0);
  const shares = counts.map((count) => (count === 0 ? 0 : Math.max(1, Math.round((count / total) * SHARES))));
  for (let excess = shares.reduce((sum, share) => sum + share, 0) - SHARES; excess !== 0; ) {
    const largest = shares.indexOf(shares.reduce((most, share) => Math.max(most, share), 0));
    const change = excess > 0 ? Math.min(excess, Math.ceil(shares[largest] / 8)) : excess;
    shares[largest] -= change;
    excess -= change;
  }
  return shares;
}

/** Encodes backwards, since the last symbol written is the first one read. */
function encode({ contexts, values, raws, size }, bitShares, shares) {
  const starts = new Uint16Array(shares.length);
  for (let at = 0; at < shares.length; at++) {
    starts[at] = at % SYMBOLS === 0 ? 0 : starts[at - 1] + shares[at - 1];
  }
  const words = [];
  let state = LEAST_STATE;
  for (let i = size - 1; i >= 0; i--) {
    const context = contexts[i];
    let start;
    let share;
    if (context < BIT_CONTEXTS) {
      [start, share] = values[i] === 0 ? [0, bitShares[context]] : [bitShares[context], SHARES - bitShares[context]];
    } else if (context < BIT_CONTEXTS + SYMBOL_CONTEXTS) {
      const at = (context - BIT_CONTEXTS) * SYMBOLS + values[i];
      [start, share] = [starts[at], shares[at]];
    } else {
      share = 1 << (SHARE_BITS - (context - BIT_CONTEXTS - SYMBOL_CONTEXTS));
      start = raws[i] * share;
    }
    if (state >= share * 2 ** (31 - SHARE_BITS)) {
      words.push(state & 0xffff);
      state = Math.floor(state / 0x10000);
    }
    state = Math.floor(state / share) * SHARES + (state % share) + start;
  }
  words.push(state & 0xffff, Math.floor(state / 0x10000));
  return Uint16Array.from(words.reverse());
}

const plain = gunzipSync(readFileSync(plainPath));
assert.equal(plain.toString("latin1", 0, 4), "DLM1");
const headerEnd = 8 + plain.readUInt32LE(4);
const header = JSON.parse(plain.toString("utf8", 8, headerEnd));
const { nodeCount, arcCount, wordCount, vocabulary } = header;
const reader = new SectionReader(plain.subarray(headerEnd));
const books = reader.bytes(2 * 1_024).slice();
reader.bytes(1_024);
const gaps = reader.words(wordCount);
const tables = {
  tokens: reader.bytes(arcCount).slice(),
  codes: reader.bytes(arcCount).slice(),
  counts: reader.bytes(nodeCount).slice(),
  backoffs: reader.bytes(nodeCount).slice(),
  logProbCodes: new Float32Array(books.buffer, 0, 256),
  backoffCodes: new Float32Array(books.buffer, 1_024, 256),
  logs: Uint8Array.from({ length: 256 }, (_, i) => Math.round(256 * Math.log2(1 + i / 256))),
};
tables.masses = Uint32Array.from(tables.logProbCodes, (code) => Math.round(Math.min(1, Math.exp(code)) * 2 ** 24));

const recorder = new Recorder();
walkGaps(recorder, gaps);
walkStates(recorder, tables, vocabulary.length);
const bitShares = Uint16Array.from({ length: BIT_CONTEXTS }, (_, context) => {
  const [zeros, ones] = recorder.bitCounts.subarray(2 * context, 2 * context + 2);
  if (zeros + ones === 0) return SHARES / 2;
  return Math.max(1, Math.min(SHARES - 1, Math.round((zeros / (zeros + ones)) * SHARES)));
});
const shares = new Uint16Array(SYMBOL_CONTEXTS * SYMBOLS);
for (let at = 0; at < shares.length; at += SYMBOLS) {
  shares.set(sharesOf(recorder.symbolCounts.subarray(at, at + SYMBOLS)), at);
}
const words = encode(recorder, bitShares, shares);

let text = JSON.stringify({ ...header, version: 2 });
while ((8 + Buffer.byteLength(text)) % 4 !== 0) text += " ";
const lengthBytes = Buffer.alloc(4);
lengthBytes.writeUInt32LE(Buffer.byteLength(text));
const bytes = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);
const body = [books, tables.masses, tables.logs, bitShares, shares, words].map(bytes);
const packed = gzipSync(Buffer.concat([Buffer.from("DLM2"), lengthBytes, Buffer.from(text), ...body]), { level: 9 });

// The output equals the input except for the words' log-probs, which nothing reads.
const { sections } = unpackSections(header, new SectionReader(Buffer.concat(body)));
const end = sections.length - wordCount;
assert.ok(Buffer.from(sections.subarray(0, 2_048)).equals(plain.subarray(headerEnd, headerEnd + 2_048)));
assert.ok(Buffer.from(sections.subarray(3_072, end)).equals(plain.subarray(headerEnd + 3_072, headerEnd + end)));
writeFileSync(packedPath, packed);
console.log(`${packedPath}: ${recorder.size} symbols, ${packed.length} bytes, ${readFileSync(plainPath).length} before`);
