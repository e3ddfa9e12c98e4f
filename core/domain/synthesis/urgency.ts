import type { Chunking } from "./solver-chunks.js";

/**
 * Who waits for a piece: nobody has heard anything of its answer yet; somebody listens and runs dry at a known time;
 * or the answer is sent as a whole, and nobody hears anything before all of it is made.
 */
export type Urgency =
  | { readonly kind: "first" }
  | {
      readonly kind: "heard";
      /** When the audio made so far has been played, in milliseconds of the caller's monotonic clock. */
      readonly runsDryAtMs: number;
    }
  | { readonly kind: "whole" };

/** Done this long before the listener runs dry: the vocoder's last windows and the way to the client take their time. */
const HEARD_MARGIN_MS = 300;
/** The same of a chunk inside a piece, whose way to the client is all that is left. */
const CHUNK_MARGIN_MS = 150;
/** How much longer than alone a piece of a whole answer may take before it goes ahead of first pieces. */
const WHOLE_PATIENCE_MS = 2_000;
/** Work of one character in one solver step on one core. Only the order of pieces depends on it, never a result. */
const CHARACTER_STEP_MS = 0.5;
/** Characters that the first chunk of a piece takes as long as, with what is around it. */
const FIRST_CHUNK_CHARACTERS = 15;

/**
 * When a piece should be done: a first piece as soon as if it were alone, the next ones when their listener would run
 * dry, a piece of a whole answer a little later than alone. The piece that is due first is made first.
 *
 * The time is fixed when the piece comes and later arrivals are due later and later, so no piece waits for ever. And a
 * listener about to run dry goes ahead of somebody who has just come.
 * @see Liu and Layland, "Scheduling algorithms for multiprogramming in a hard-real-time environment", 1973: with the
 *   earliest deadline first every deadline is met that can be met
 */
export function dueAtMs(urgency: Urgency, nowMs: number, workMs: number): number {
  switch (urgency.kind) {
    case "first":
      return nowMs + workMs;
    case "heard":
      return urgency.runsDryAtMs - HEARD_MARGIN_MS;
    case "whole":
      return nowMs + workMs + WHOLE_PATIENCE_MS;
  }
}

/**
 * When the next chunk of a piece should be done whose beginning is heard already.
 * @param playsFromMs when the listener hears its first sample
 * @param sentMs how much of it was sent
 */
export function chunkDueAtMs(playsFromMs: number, sentMs: number): number {
  return playsFromMs + sentMs - CHUNK_MARGIN_MS;
}

/** A guess at the model time of a piece, or of its first chunk, in milliseconds. */
export function estimateWorkMs(piece: {
  readonly spokenText: string;
  readonly nfe: number;
  readonly speed: number;
  readonly chunking?: Chunking;
}): number {
  const wholeMs = (piece.spokenText.length * piece.nfe * CHARACTER_STEP_MS) / piece.speed;
  if (piece.chunking !== "growing") return wholeMs;
  return Math.min(wholeMs, FIRST_CHUNK_CHARACTERS * piece.nfe * CHARACTER_STEP_MS);
}
