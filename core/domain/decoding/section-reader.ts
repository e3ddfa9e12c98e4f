import { brokenLanguageModel } from "./broken-language-model.js";

/** Reads the sections of a language model file in order. */
export class SectionReader {
  readonly #bytes: Uint8Array;
  #position = 0;

  constructor(bytes: Uint8Array) {
    // A Node buffer's `slice` does not copy, a plain array's does.
    this.#bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** All unread bytes. */
  get rest(): Uint8Array {
    return this.#bytes.subarray(this.#position);
  }

  bytes(count: number): Uint8Array {
    const end = this.#position + count;
    if (end > this.#bytes.length)
      throw brokenLanguageModel(`it must have ${end} bytes, found ${this.#bytes.length}`);
    const section = this.#bytes.subarray(this.#position, end);
    this.#position = end;
    return section;
  }

  shorts(count: number): Uint16Array {
    return new Uint16Array(this.bytes(count * 2).slice().buffer);
  }

  words(count: number): Uint32Array {
    return new Uint32Array(this.bytes(count * 4).slice().buffer);
  }

  floats(count: number): Float32Array {
    return new Float32Array(this.bytes(count * 4).slice().buffer);
  }
}
