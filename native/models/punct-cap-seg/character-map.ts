const UNIT_BYTES = 4;

/**
 * The normalizer of a SentencePiece model: replaces the longest known sequence of bytes at each position. Its
 * rules are a double-array trie of UTF-8 bytes, whose values point into a list of replacements.
 *
 * @see Yata et al., 2007, "A compact static double-array keeping character codes"; the layout is
 *   darts-clone's
 */
export class CharacterMap {
  readonly #units: Uint32Array;
  readonly #replacements: Uint8Array;

  /**
   * @param map `precompiled_charsmap` of the model: the trie's length in bytes, the trie, the replacements
   * @throws {RangeError} if the length does not match the bytes
   */
  constructor(map: Uint8Array) {
    const view = new DataView(map.buffer, map.byteOffset, map.byteLength);
    const trieBytes = map.length < UNIT_BYTES ? -1 : view.getUint32(0, true);
    if (trieBytes < UNIT_BYTES || trieBytes % UNIT_BYTES !== 0 || UNIT_BYTES + trieBytes > map.length)
      throw new RangeError(`a character map of ${map.length} bytes cannot have a trie of ${trieBytes}`);
    this.#units = Uint32Array.from({ length: trieBytes / UNIT_BYTES }, (_, at) =>
      view.getUint32((at + 1) * UNIT_BYTES, true),
    );
    this.#replacements = map.subarray(UNIT_BYTES + trieBytes);
  }

  /** Splits a text into parts, each the replacement of a rule or one character without a rule. */
  parts(text: string): string[] {
    const bytes = ENCODER.encode(text);
    const parts: string[] = [];
    for (let at = 0; at < bytes.length; ) {
      const [value, length] = this.#longest(bytes, at);
      if (length > 0) {
        parts.push(this.#replacement(value));
        at += length;
      } else {
        const end = at + characterBytes(bytes[at]!);
        parts.push(DECODER.decode(bytes.subarray(at, end)));
        at = end;
      }
    }
    return parts;
  }

  /** Returns the value of the longest key that starts at `from`, and its length; 0 without one. */
  #longest(bytes: Uint8Array, from: number): readonly [number, number] {
    let found: readonly [number, number] = [0, 0];
    let node = offsetOf(this.#units[0]!);
    for (let at = from; at < bytes.length; at++) {
      node ^= bytes[at]!;
      const unit = this.#units[node];
      if (unit === undefined || labelOf(unit) !== bytes[at]) break;
      node ^= offsetOf(unit);
      if (hasLeaf(unit)) found = [targetOf(this.#units[node] ?? 0), at + 1 - from];
    }
    return found;
  }

  #replacement(start: number): string {
    const end = this.#replacements.indexOf(0, start);
    return DECODER.decode(this.#replacements.subarray(start, end < 0 ? undefined : end));
  }
}

const ENCODER = new TextEncoder();
// Keep a byte order mark, which is an ordinary character of the text.
const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Bits of a unit: 0 to 7 label, 8 leaf, 9 whether the offset is in units of 256, 10 to 30 offset, 31 value.
 */
function labelOf(unit: number): number {
  return (unit & 0x800000ff) >>> 0;
}

function hasLeaf(unit: number): boolean {
  return (unit & 0x100) !== 0;
}

function offsetOf(unit: number): number {
  return (unit >>> 10) << ((unit & 0x200) >>> 6);
}

function targetOf(unit: number): number {
  return unit & 0x7fffffff;
}

function characterBytes(first: number): number {
  if (first < 0x80) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}
