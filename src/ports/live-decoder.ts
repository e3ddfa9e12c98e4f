import type { HotWord } from "../domain/decoding/hot-words.js";
import type { ScoredWord } from "../domain/decoding/words.js";
import type { ServiceError } from "../domain/errors.js";

/** What the decoder says about a live session. Times are samples of accepted audio since the session began. */
export type LiveEvent =
  | { readonly type: "ready" }
  | {
      readonly type: "partial";
      readonly utterance: number;
      readonly text: string;
      readonly startSample: number;
      readonly endSample: number;
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
  | { readonly type: "failed"; readonly message: string }
  /** Instead of `ready`: the models could not be loaded in time. */
  | { readonly type: "unavailable"; readonly error: ServiceError };

/** One session's hold on the decoder. */
export interface LiveStream {
  /** Appends samples; returns how many fitted (fewer means the backlog is full). Copies, never waits. */
  write(samples: Int16Array): number;
  /** Ends the current utterance now. */
  finalize(): void;
  /** No more audio will come: decode what is there, then say `finished`. */
  finish(): void;
  /** Frees the slot and ring at once; no event comes after it. */
  release(): void;
}

export interface LiveOptions {
  readonly modelId: string;
  readonly endOfUtteranceMs: number;
  readonly wantsPartials: boolean;
  readonly hotWords: readonly HotWord[];
}

export interface LiveDecoder {
  /** Opens a session; events come on the calling thread, in order. Audio may be written before `ready`. */
  open(options: LiveOptions, onEvent: (event: LiveEvent) => void): LiveStream;
}
