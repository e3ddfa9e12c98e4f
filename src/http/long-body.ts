import { setImmediate as nextTurn } from "node:timers/promises";
import type { Departure } from "../../core/ports/front.js";
import type { Exchange } from "./exchange.js";

/** A body in parts that are produced and sent one by one. */
export interface LongBody {
  /** Total length of all parts. */
  readonly bytes: number;
  readonly parts: Iterable<Uint8Array>;
}

/** Bytes sent in one turn of the event loop, in about 0.1 ms. Shorter bodies are sent as a whole. */
export const SLICE_BYTES = 192 * 1024;

/** Sends a body as part of a response. @param departure notified when the last bytes leave */
export function writeBody(exchange: Exchange, body: LongBody, departure?: Departure): Promise<void> {
  return inTurns(body, (slice, isLast) => exchange.write(slice, isLast ? departure : undefined));
}

/** Sends a body and ends the response. @param departure notified when the last bytes leave */
export function endWithBody(exchange: Exchange, body: LongBody, departure?: Departure): Promise<void> {
  return inTurns(body, (slice, isLast) => (isLast ? exchange.end(slice, departure) : exchange.write(slice)));
}

export function base64Body(body: LongBody): LongBody {
  return { bytes: Math.ceil(body.bytes / 3) * 4, parts: base64Of(body) };
}

export function joinedBody(...bodies: readonly LongBody[]): LongBody {
  return { bytes: bodies.reduce((sum, { bytes }) => sum + bytes, 0), parts: joinedParts(bodies) };
}

export function textBody(text: string): LongBody {
  const bytes = Buffer.from(text);
  return { bytes: bytes.length, parts: [bytes] };
}

async function inTurns(
  body: LongBody,
  send: (slice: Uint8Array, isLast: boolean) => Promise<void>,
): Promise<void> {
  if (body.bytes <= SLICE_BYTES) return send(Buffer.concat([...body.parts], body.bytes), true);
  let left = body.bytes;
  let turnBytes = 0;
  for (const slice of slicesOf(body.parts)) {
    left -= slice.length;
    turnBytes += slice.length;
    await send(slice, left === 0);
    // A reader on the same machine takes everything immediately. Without this, all of it would be sent in one
    // turn.
    if (left === 0 || turnBytes < SLICE_BYTES) continue;
    turnBytes = 0;
    await nextTurn();
  }
}

/** Splits long parts into slices, without copies that the garbage collector would have to collect. */
function* slicesOf(parts: Iterable<Uint8Array>): Generator<Uint8Array, void, undefined> {
  for (const part of parts) {
    for (let start = 0; start < part.length; start += SLICE_BYTES) {
      yield part.subarray(start, start + SLICE_BYTES);
    }
  }
}

function* base64Of({ parts }: LongBody): Generator<Uint8Array, void, undefined> {
  let carried: Uint8Array = new Uint8Array(0);
  for (const slice of slicesOf(parts)) {
    // Base64 encodes three bytes at a time, so carry the rest of a slice over to the next.
    const borrowed = Math.min(slice.length, (3 - carried.length) % 3);
    const first = Buffer.concat([carried, slice.subarray(0, borrowed)]);
    const whole = borrowed + Math.floor((slice.length - borrowed) / 3) * 3;
    if (first.length % 3 !== 0) {
      carried = first;
      continue;
    }
    carried = slice.slice(whole);
    yield Buffer.from(base64(first) + base64(slice.subarray(borrowed, whole)), "latin1");
  }
  if (carried.length > 0) yield Buffer.from(base64(carried), "latin1");
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");
}

function* joinedParts(bodies: readonly LongBody[]): Generator<Uint8Array, void, undefined> {
  for (const { parts } of bodies) yield* parts;
}

/** List entries serialized in one turn of the event loop; words and segments take a microsecond each. */
const ENTRIES_PER_TURN = 2_000;

/** Lists with at most this many entries may contain long lists, such as the channels of a recording. */
const OUTER_ENTRIES = 4;

/**
 * Serializes like `JSON.stringify`, but spreads the object's long lists over several turns of the event loop.
 */
export async function jsonInTurns(value: object): Promise<LongBody> {
  const parts: Uint8Array[] = [];
  let open = "";
  for await (const text of jsonOf(value)) {
    open += text;
    if (open.length < SLICE_BYTES) continue;
    parts.push(Buffer.from(open));
    open = "";
  }
  parts.push(Buffer.from(open));
  return { bytes: parts.reduce((sum, part) => sum + part.length, 0), parts };
}

async function* jsonOf(value: unknown): AsyncGenerator<string, void, undefined> {
  if (typeof value !== "object" || value === null) yield JSON.stringify(value);
  else if (!Array.isArray(value)) yield* jsonOfMembers(value);
  else if (value.length <= OUTER_ENTRIES) {
    yield "[";
    for (const [index, entry] of value.entries()) {
      if (index > 0) yield ",";
      yield* jsonOf(entry);
    }
    yield "]";
  } else yield* jsonOfList(value);
}

async function* jsonOfMembers(value: object): AsyncGenerator<string, void, undefined> {
  let separator = "{";
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    yield `${separator}${JSON.stringify(name)}:`;
    yield* jsonOf(member);
    separator = ",";
  }
  yield separator === "{" ? "{}" : "}";
}

async function* jsonOfList(list: readonly unknown[]): AsyncGenerator<string, void, undefined> {
  for (let start = 0; start < list.length; start += ENTRIES_PER_TURN) {
    if (start > 0) await nextTurn();
    const entries = JSON.stringify(list.slice(start, start + ENTRIES_PER_TURN)).slice(1, -1);
    yield (start === 0 ? "[" : ",") + entries;
  }
  yield "]";
}
