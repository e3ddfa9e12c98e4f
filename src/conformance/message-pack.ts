/**
 * Reads one MessagePack value that fills `bytes`. Supports what the protocol sends: maps, lists, strings,
 * numbers, booleans and nil.
 *
 * @throws {RangeError} if the bytes are anything else
 * @see https://github.com/msgpack/msgpack/blob/master/spec.md
 */
export function readMessagePack(bytes: Uint8Array): unknown {
  const reader = new Reader(bytes);
  const value = reader.value();
  if (reader.rest > 0) throw new RangeError(`${reader.rest} bytes follow the value`);
  return value;
}

class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get rest(): number {
    return this.#bytes.length - this.#at;
  }

  value(): unknown {
    const tag = this.#unsigned(1);
    if (tag < 0x80) return tag;
    if (tag >= 0xe0) return tag - 0x100;
    if (tag < 0x90) return this.#map(tag & 0x0f);
    if (tag < 0xa0) return this.#list(tag & 0x0f);
    if (tag < 0xc0) return this.#text(tag & 0x1f);
    return this.#tagged(tag);
  }

  #tagged(tag: number): unknown {
    if (tag === 0xc0) return null;
    if (tag === 0xc2 || tag === 0xc3) return tag === 0xc3;
    if (tag === 0xca) return this.#number(4, (at) => this.#view.getFloat32(at));
    if (tag === 0xcb) return this.#number(8, (at) => this.#view.getFloat64(at));
    if (tag >= 0xcc && tag <= 0xce) return this.#unsigned(2 ** (tag - 0xcc));
    if (tag === 0xcf) return this.#number(8, (at) => Number(this.#view.getBigUint64(at)));
    if (tag === 0xd0) return this.#number(1, (at) => this.#view.getInt8(at));
    if (tag === 0xd1) return this.#number(2, (at) => this.#view.getInt16(at));
    if (tag === 0xd2) return this.#number(4, (at) => this.#view.getInt32(at));
    if (tag === 0xd3) return this.#number(8, (at) => Number(this.#view.getBigInt64(at)));
    if (tag >= 0xd9 && tag <= 0xdb) return this.#text(this.#unsigned(2 ** (tag - 0xd9)));
    if (tag === 0xdc || tag === 0xdd) return this.#list(this.#unsigned(tag === 0xdc ? 2 : 4));
    if (tag === 0xde || tag === 0xdf) return this.#map(this.#unsigned(tag === 0xde ? 2 : 4));
    throw new RangeError(`unexpected tag 0x${tag.toString(16)}`);
  }

  #number(size: number, read: (at: number) => number): number {
    const at = this.#at;
    this.#at += size;
    return read(at);
  }

  #unsigned(size: number): number {
    if (size === 1) return this.#number(1, (at) => this.#view.getUint8(at));
    return this.#number(size, (at) => (size === 2 ? this.#view.getUint16(at) : this.#view.getUint32(at)));
  }

  #text(size: number): string {
    if (size > this.rest) throw new RangeError("a string is longer than the message");
    const from = this.#at;
    this.#at += size;
    return new TextDecoder().decode(this.#bytes.subarray(from, this.#at));
  }

  #list(length: number): readonly unknown[] {
    const values: unknown[] = [];
    while (values.length < length) values.push(this.value());
    return values;
  }

  #map(length: number): Readonly<Record<string, unknown>> {
    const entries: [string, unknown][] = [];
    while (entries.length < length) entries.push([String(this.value()), this.value()]);
    return Object.fromEntries(entries);
  }
}
