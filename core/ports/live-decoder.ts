import type { HotWord } from "../domain/decoding/hot-words.js";
import type { ScoredWord } from "../domain/decoding/words.js";
import type { Endpointing } from "../domain/endpointing/endpointer.js";
import type { Span } from "./span.js";

/** What the decoder says about a live session. Times are samples of accepted audio since the session began. */
export type LiveEvent =
  | { readonly type: "ready" }
  | {
      readonly type: "partial";
      readonly utterance: number;
      readonly text: string;
      readonly startSample: number;
      readonly endSample: number;
      /** Code points at its beginning that the decoder will not change; absent when it is all of them. */
      readonly stable?: number;
    }
  | {
      readonly type: "final";
      readonly utterance: number;
      readonly text: string;
      readonly startSample: number;
      readonly endSample: number;
      readonly words: readonly ScoredWord[];
    }
  /** All audio accepted before `finish()` has been decoded and its finals were delivered. */
  | { readonly type: "finished" }
  | { readonly type: "failed"; readonly message: string };

/** What a session feeds its audio to. */
export interface LiveFeed {
  /** Appends samples; returns how many fitted (fewer means the backlog is full). Copies, never waits. */
  write(samples: Int16Array): number;
  /** Ends the current utterance now. */
  finalize(): void;
  /** No more audio will come: decode what is there, then say `finished`. */
  finish(): void;
  /** Frees the track and the ring at once; no event comes after it. */
  release(): void;
}

export interface LiveOptions {
  readonly modelId: string;
  readonly endOfUtteranceMs: number;
  /** `fixed` when absent. */
  readonly endpointing?: Endpointing;
  readonly wantsPartials: boolean;
  readonly hotWords: readonly HotWord[];
  /** Of the session. */
  readonly span?: Span;
}

export interface LiveDecoder {
  /** Opens a session; events come on the calling thread, in order. Audio may be written before `ready`. */
  open(options: LiveOptions, onEvent: (event: LiveEvent) => void): LiveFeed;
}
