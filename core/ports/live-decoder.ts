import type { HotWord } from "../domain/decoding/hot-words.js";
import type { ScoredWord } from "../domain/decoding/words.js";
import type { Endpointing } from "../domain/endpointing/patience.js";
import type { Span } from "./span.js";

/** Events of a live session's decoder. Times are samples of accepted audio since the start of the session. */
export type LiveEvent =
  | { readonly type: "ready" }
  | {
      readonly type: "partial";
      readonly utterance: number;
      readonly text: string;
      readonly startSample: number;
      readonly endSample: number;
      /** Code points at its start that the decoder will not change; all of them when absent. */
      readonly stable?: number;
      /** The speaker has been silent for half of the threshold; only with `wantsPauses`. */
      readonly isPause?: boolean;
      /** May come with `isPause`: the words of the final if no speech follows. */
      readonly words?: readonly ScoredWord[];
    }
  | {
      readonly type: "final";
      readonly utterance: number;
      readonly text: string;
      readonly startSample: number;
      readonly endSample: number;
      readonly words: readonly ScoredWord[];
      /** A `finalize()` ended the utterance, and not a pause before it. */
      readonly isFromFinalize?: boolean;
    }
  /**
   * All audio before a `finalize()` is decoded and its finals are delivered; called once per `finalize()`.
   */
  | { readonly type: "finalized" }
  /** All audio before `finish()` is decoded and its finals are delivered. */
  | { readonly type: "finished" }
  | { readonly type: "failed"; readonly message: string };

/** Takes a session's audio. */
export interface LiveFeed {
  /** Copies samples; returns how many fit, fewer if the backlog is full. Never waits. */
  write(samples: Int16Array): number;
  /** Ends the current utterance now. */
  finalize(): void;
  /** Ends the audio: `finished` follows when all of it is decoded. */
  finish(): void;
  /** Frees the track and the ring immediately; no event follows. */
  release(): void;
}

export interface LiveOptions {
  readonly modelId: string;
  readonly endOfUtteranceMs: number;
  /** `fixed` by default. */
  readonly endpointing?: Endpointing;
  readonly wantsPartials: boolean;
  /** A partial reports each pause, even if its text has not changed. */
  readonly wantsPauses?: boolean;
  readonly hotWords: readonly HotWord[];
  readonly span?: Span;
}

export interface LiveDecoder {
  /** Opens a session; events arrive on the calling thread, in order. Audio may be written before `ready`. */
  open(options: LiveOptions, onEvent: (event: LiveEvent) => void): LiveFeed;
}
