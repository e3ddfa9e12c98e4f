import type { DisplayWord, Redaction, TimedWord } from "./transcription-types.js";

export interface StreamToken {
  /** Opens one live socket. */
  readonly token: string;
  /** Seconds. */
  readonly expires_in: number;
}

interface LiveUtterance {
  /** Counts from 0; only with `channelCount`. */
  readonly channel?: number | undefined;
  /** Counts utterances from 0; with `channelCount`, those of each channel. */
  readonly utterance: number;
  readonly text: string;
  /** Seconds from the start of the audio. */
  readonly start: number;
  readonly end: number;
}

/** Text that may still change. */
export interface LivePartial extends LiveUtterance {
  readonly type: "partial";
  /** Code points at the start of `text` that later partials of the utterance keep, on one connection. */
  readonly stable: number;
  /** Probability that the sentence is over; only in a pause, with `display`. */
  readonly end_of_turn?: number | undefined;
}

/** Text that never changes again. */
export interface LiveFinal extends LiveUtterance {
  readonly type: "final";
  /** Only with `words`. */
  readonly words?: readonly ScoredWord[] | undefined;
  /** `finalize()` ended the utterance; absent if it ended by itself. */
  readonly from_finalize?: true | undefined;
  /**
   * The text as people read it, without a mark at its end if the sentence may continue; only with `display`.
   */
  readonly display_text?: string | undefined;
  /** Joins `display_text` to that of the previous final: a mark that was unknown there, and a space. */
  readonly display_before?: string | undefined;
  /** Only with `display` and `words`. */
  readonly display_words?: readonly DisplayWord[] | undefined;
  /** Probability that the sentence is over; only with `display`. */
  readonly end_of_turn?: number | undefined;
  /** Only with `redact`. */
  readonly redactions?: readonly Redaction[] | undefined;
}

export interface ScoredWord extends TimedWord {
  /** 0 to 1. */
  readonly confidence: number;
}

export type LiveResult = LivePartial | LiveFinal;

/** A message of the service over a live socket. Times are seconds of the audio that this socket accepted. */
export type LiveMessage =
  | {
      readonly type: "ready";
      readonly session_id: string;
      readonly request_id: string;
      readonly model: string;
      readonly sample_rate: number;
      readonly eou_ms: number;
      /** Only with `channelCount`: the session of each channel. */
      readonly session_ids?: readonly string[] | undefined;
    }
  | LivePartial
  | LiveFinal
  /** The service stops within `deadline_s` seconds. */
  | { readonly type: "going_away"; readonly deadline_s: number }
  | {
      readonly type: "error";
      readonly code: string;
      readonly detail: string;
      readonly retryable: boolean;
    }
  | {
      readonly type: "done";
      readonly audio_seconds: number;
      readonly credits_charged: number;
      /** The mark that ends the whole text, if the last `display_text` has none. */
      readonly display_end?: string | undefined;
      /** Only with `channelCount`; `credits_charged` adds up theirs. */
      readonly channels?: readonly LiveChannelDone[] | undefined;
    };

/** The end of one channel of a live session. */
export interface LiveChannelDone {
  readonly channel: number;
  readonly audio_seconds: number;
  readonly credits_charged: number;
  readonly display_end?: string | undefined;
}
