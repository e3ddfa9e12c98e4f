import type { Chunking } from "./solver-chunks.js";

/**
 * State of a piece's listener: `first` has no audio yet, `heard` runs out of audio at a known time, and
 * `whole` gets the response only once it is complete.
 */
export type Urgency =
  | { readonly kind: "first" }
  | {
      readonly kind: "heard";
      /** End of the audio synthesized so far, in milliseconds of the caller's monotonic clock. */
      readonly runsDryAtMs: number;
    }
  | { readonly kind: "whole" };

/** A piece is due this long before its listener runs dry, for the last vocoder windows and the network. */
const HEARD_MARGIN_MS = 300;
/** Like `HEARD_MARGIN_MS`, but for a chunk inside a piece, which needs time for the network only. */
const CHUNK_MARGIN_MS = 150;
/** Extra time that a piece of a whole response gets, so that first pieces run before it. */
const WHOLE_PATIENCE_MS = 2_000;
/**
 * Work for a character in a solver step on one core. Only the order of pieces depends on it, never a result.
 */
const CHARACTER_STEP_MS = 0.5;
/** Number of characters that take as much work as the first chunk of a piece with its context. */
const FIRST_CHUNK_CHARACTERS = 15;

/**
 * Returns when a piece is due: a first piece as early as it could finish alone, later pieces when their
 * listener would run dry, a piece of a whole response slightly later than it could finish alone. The earliest
 * deadline runs first.
 *
 * Deadlines are fixed on arrival, and later arrivals have later ones, so no piece waits forever. A listener
 * about to run dry comes before a new one.
 * @see Liu and Layland, "Scheduling algorithms for multiprogramming in a hard-real-time environment", 1973:
 * serving the earliest deadline first meets all deadlines that can be met
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
 * Returns the due time of the next chunk of a piece whose start has been played.
 * @param playsFromMs when the listener hears its first sample
 * @param sentMs length of the part that was sent
 */
export function chunkDueAtMs(playsFromMs: number, sentMs: number): number {
  return playsFromMs + sentMs - CHUNK_MARGIN_MS;
}

/** Estimates the model time of a piece, or of its first chunk, in milliseconds. */
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
