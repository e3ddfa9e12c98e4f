import { setImmediate as nextTurn } from "node:timers/promises";
import type { Departure } from "../ports/front.js";
import type { Exchange } from "./exchange.js";

/** Bytes in parts, one behind the other. They are made and handed over one by one, and never all in one piece. */
export interface LongBody {
  /** Of all parts together. */
  readonly bytes: number;
  readonly parts: Iterable<Uint8Array>;
}

/**
 * What one turn of the event loop hands over: some tenths of a millisecond, after which others have their turn. Whole groups
 * of three bytes, so that slices can be written in base64 one by one. A body up to this length goes in one piece.
 */
export const SLICE_BYTES = 192 * 1024;

/** Sends a body that belongs to an answer whose length is not known. @param departure goes with its last bytes */
export function writeBody(exchange: Exchange, body: LongBody, departure?: Departure): Promise<void> {
  return inTurns(body, (slice, isLast) => exchange.write(slice, isLast ? departure : undefined));
}

/** Sends a body that is the answer, or its end. @param departure goes with its last bytes */
export function endWithBody(exchange: Exchange, body: LongBody, departure?: Departure): Promise<void> {
  return inTurns(body, (slice, isLast) => (isLast ? exchange.end(slice, departure) : exchange.write(slice)));
}

/** The same bytes in base64. */
export function base64Body(body: LongBody): LongBody {
  return { bytes: Math.ceil(body.bytes / 3) * 4, parts: base64Of(body) };
}

/** One body behind the other. */
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
  let left = body.bytes;
  for (const slice of slicesOf(body)) {
    left -= slice.length;
    await send(slice, left === 0);
    // A reader on the same machine takes whatever comes: without this, all of it would leave in one turn.
    if (left > 0) await nextTurn();
  }
}

/** The parts cut anew: slices of `SLICE_BYTES`, and what is left. */
function* slicesOf({ bytes, parts }: LongBody): Generator<Uint8Array, void, undefined> {
  let left = bytes;
  let slice = Buffer.allocUnsafeSlow(Math.min(SLICE_BYTES, left));
  let filled = 0;
  for (const part of parts) {
    for (let start = 0; start < part.length; ) {
      const some = part.subarray(start, start + slice.length - filled);
      slice.set(some, filled);
      filled += some.length;
      start += some.length;
      if (filled < slice.length) continue;
      yield slice;
      left -= filled;
      slice = Buffer.allocUnsafeSlow(Math.min(SLICE_BYTES, left));
      filled = 0;
    }
  }
}

function* base64Of(body: LongBody): Generator<Uint8Array, void, undefined> {
  for (const slice of slicesOf(body)) {
    const text = Buffer.from(slice.buffer, slice.byteOffset, slice.length).toString("base64");
    yield Buffer.from(text, "latin1");
  }
}

function* joinedParts(bodies: readonly LongBody[]): Generator<Uint8Array, void, undefined> {
  for (const { parts } of bodies) yield* parts;
}
