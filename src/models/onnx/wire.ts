import { PbfReader, PbfWriter } from "pbf";

/** A message as views of its input, because graphs of hundreds of megabytes must not be copied. */
export type Chunks = readonly Uint8Array[];

export interface Field {
  readonly number: number;
  /** The bytes including the tag, for writing the field unchanged. */
  readonly raw: Uint8Array;
  /** Content of a length-delimited field; empty for other types. */
  readonly bytes: Uint8Array;
  /** Value of a varint; 0 for other types. */
  readonly value: number;
}

const VARINT = 0;
const LENGTH_DELIMITED = 2;
const TEXT = new TextDecoder();

/**
 * Reads the fields of a message in order, including unknown ones.
 * @throws {RangeError} if the bytes are not a protobuf message
 */
export function fieldsOf(message: Uint8Array): Field[] {
  const reader = new PbfReader(message);
  const fields: Field[] = [];
  while (reader.pos < message.length) {
    const start = reader.pos;
    const tag = reader.readVarint();
    const kind = tag & 7;
    let bytes = message.subarray(0, 0);
    let value = 0;
    if (kind === VARINT) value = reader.readVarint(true);
    else if (kind === LENGTH_DELIMITED) bytes = reader.readBytes();
    else reader.skip(tag);
    if (reader.pos > message.length) throw new RangeError("a field is longer than its message");
    fields.push({ number: tag >> 3, raw: message.subarray(start, reader.pos), bytes, value });
  }
  return fields;
}

export function textOf(fields: readonly Field[], number: number): string {
  const found = fields.findLast((field) => field.number === number);
  return found === undefined ? "" : TEXT.decode(found.bytes);
}

export function textsOf(fields: readonly Field[], number: number): string[] {
  return fields.filter((field) => field.number === number).map(({ bytes }) => TEXT.decode(bytes));
}

/** Returns the integers of a repeated field, whether packed or not. */
export function numbersOf(fields: readonly Field[], number: number): number[] {
  return fields
    .filter((field) => field.number === number)
    .flatMap(({ raw, bytes, value }) =>
      (raw[0]! & 7) === LENGTH_DELIMITED ? packedNumbers(bytes) : [value],
    );
}

export function numberOf(fields: readonly Field[], number: number, otherwise = 0): number {
  return numbersOf(fields, number).at(-1) ?? otherwise;
}

/** Writes a text or bytes field of a message. */
export function delimited(number: number, content: Chunks | string): Uint8Array[] {
  const chunks = typeof content === "string" ? [new TextEncoder().encode(content)] : content;
  return [varints((number << 3) | LENGTH_DELIMITED, lengthOf(chunks)), ...chunks];
}

export function whole(number: number, value: number): Uint8Array {
  return varints((number << 3) | VARINT, value);
}

function lengthOf(chunks: Chunks): number {
  return chunks.reduce((sum, { length }) => sum + length, 0);
}

function varints(...values: readonly number[]): Uint8Array {
  const writer = new PbfWriter();
  for (const value of values) writer.writeVarint(value);
  return writer.finish();
}

function packedNumbers(bytes: Uint8Array): number[] {
  const reader = new PbfReader(bytes);
  const values: number[] = [];
  while (reader.pos < bytes.length) values.push(reader.readVarint(true));
  return values;
}
