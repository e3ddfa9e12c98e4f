import { type FileHandle, open } from "node:fs/promises";
import { basename } from "node:path";

/** Minimum size of tensors that stay in the file; smaller ones are copied with the graph. */
const LEAST_MAPPED_BYTES = 4_096;
const WINDOW_BYTES = 1 << 16;

/** Protobuf wire types in ONNX files. */
const VARINT = 0;
const FIXED64 = 1;
const LENGTH_DELIMITED = 2;
const FIXED32 = 5;
/** Field numbers in `onnx.proto`. */
const MODEL_GRAPH = 7;
const GRAPH_INITIALIZER = 5;
const TENSOR_RAW_DATA = 9;
const TENSOR_EXTERNAL_DATA = 13;
const TENSOR_DATA_LOCATION = 14;
const EXTERNAL = 1;

interface Field {
  readonly number: number;
  readonly wireType: number;
  /** Start of the field and of its content, and the end of both. */
  readonly start: number;
  readonly contentStart: number;
  readonly end: number;
}

/**
 * Copies a graph file without its weights: each large initializer refers to its bytes in the original file,
 * as if that were a side file. The runtime then maps the weights instead of copying them, and all workers
 * share the pages.
 *
 * @returns the bytes of that graph; load them with the file's folder as the folder of side files
 * @throws {RangeError} if the file is not a protobuf message
 */
export async function graphOverMappedWeights(path: string): Promise<Uint8Array> {
  const file = await open(path, "r");
  try {
    const reader = new FieldReader(file, (await file.stat()).size);
    return await new MappedGraph(reader, basename(path)).rewritten();
  } finally {
    await file.close();
  }
}

class MappedGraph {
  readonly #reader: FieldReader;
  readonly #location: string;

  constructor(reader: FieldReader, location: string) {
    this.#reader = reader;
    this.#location = location;
  }

  rewritten(): Promise<Buffer> {
    return this.#rewrite(0, this.#reader.size, (field) =>
      field.number === MODEL_GRAPH ? this.#nested(field, (inner) => this.#initializer(inner)) : null,
    );
  }

  /** Copies a message with some fields replaced; null keeps a field. */
  async #rewrite(
    start: number,
    end: number,
    replace: (field: Field) => Promise<Buffer> | null,
  ): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let at = start; at < end; ) {
      const field = await this.#reader.field(at, end);
      const isNested = field.wireType === LENGTH_DELIMITED;
      parts.push(await ((isNested ? replace(field) : null) ?? this.#reader.bytes(field.start, field.end)));
      at = field.end;
    }
    return Buffer.concat(parts);
  }

  async #nested(field: Field, replace: (field: Field) => Promise<Buffer> | null): Promise<Buffer> {
    return lengthDelimited(field.number, await this.#rewrite(field.contentStart, field.end, replace));
  }

  #initializer(field: Field): Promise<Buffer> | null {
    if (field.number !== GRAPH_INITIALIZER || field.end - field.contentStart < LEAST_MAPPED_BYTES)
      return null;
    return this.#nested(field, (inner) => {
      const length = inner.end - inner.contentStart;
      if (inner.number !== TENSOR_RAW_DATA || length < LEAST_MAPPED_BYTES) return null;
      return Promise.resolve(
        Buffer.concat([
          this.#entry("location", this.#location),
          this.#entry("offset", String(inner.contentStart)),
          this.#entry("length", String(length)),
          varintOf((TENSOR_DATA_LOCATION << 3) | VARINT),
          varintOf(EXTERNAL),
        ]),
      );
    });
  }

  #entry(key: string, value: string): Buffer {
    const pair = Buffer.concat([
      lengthDelimited(1, Buffer.from(key)),
      lengthDelimited(2, Buffer.from(value)),
    ]);
    return lengthDelimited(TENSOR_EXTERNAL_DATA, pair);
  }
}

/** Reads single fields of a protobuf file, without the rest. */
class FieldReader {
  readonly size: number;
  readonly #file: FileHandle;
  readonly #window = Buffer.alloc(WINDOW_BYTES);
  #windowStart = 0;
  #windowEnd = 0;

  constructor(file: FileHandle, size: number) {
    this.#file = file;
    this.size = size;
  }

  async field(start: number, limit: number): Promise<Field> {
    const tag = await this.#varint(start);
    const wireType = tag.value % 8;
    const number = Math.floor(tag.value / 8);
    let contentStart = tag.end;
    let end: number;
    if (wireType === VARINT) end = (await this.#varint(contentStart)).end;
    else if (wireType === FIXED64) end = contentStart + 8;
    else if (wireType === FIXED32) end = contentStart + 4;
    else if (wireType === LENGTH_DELIMITED) {
      const length = await this.#varint(contentStart);
      contentStart = length.end;
      end = contentStart + length.value;
    } else throw new RangeError(`byte ${start} must start a field, found wire type ${wireType}`);
    if (end > limit) throw new RangeError(`the field at byte ${start} must end by ${limit}, found ${end}`);
    return { number, wireType, start, contentStart, end };
  }

  async bytes(start: number, end: number): Promise<Buffer> {
    if (end - start > WINDOW_BYTES) {
      const bytes = Buffer.alloc(end - start);
      await this.#file.read(bytes, 0, bytes.length, start);
      return bytes;
    }
    await this.#hold(start, end);
    return Buffer.from(this.#window.subarray(start - this.#windowStart, end - this.#windowStart));
  }

  async #varint(start: number): Promise<{ readonly value: number; readonly end: number }> {
    await this.#hold(start, Math.min(start + 10, this.size));
    let value = 0;
    let scale = 1;
    for (let at = start; at < this.#windowEnd && at < start + 10; at++) {
      const byte = this.#window[at - this.#windowStart]!;
      // Ten bytes may exceed a double's exact range; sizes and field numbers never do.
      value += (byte & 0x7f) * scale;
      scale *= 128;
      if (byte < 0x80) return { value, end: at + 1 };
    }
    throw new RangeError(`byte ${start} must start a whole number`);
  }

  /** Loads these bytes into the window. */
  async #hold(start: number, end: number): Promise<void> {
    if (start >= this.#windowStart && end <= this.#windowEnd) return;
    const { bytesRead } = await this.#file.read(this.#window, 0, WINDOW_BYTES, start);
    this.#windowStart = start;
    this.#windowEnd = start + bytesRead;
    if (this.#windowEnd < end) throw new RangeError(`byte ${end} is beyond the end of the file`);
  }
}

function lengthDelimited(number: number, content: Buffer): Buffer {
  return Buffer.concat([varintOf((number << 3) | LENGTH_DELIMITED), varintOf(content.length), content]);
}

function varintOf(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) | 0x80);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}
