import { queryOf } from "./query.js";
import type { SpeechRequest, SpeechWord } from "./speech-types.js";

export interface LiveSpeechOptions extends Omit<SpeechRequest, "text" | "nfe"> {
  /** Solver steps, 4 to 64; default 16. */
  readonly nfe?: number | undefined;
  /** Sample rate of the audio in Hz: 8000, 16000, 24000 (default), 32000 or 48000. */
  readonly sampleRateHz?: number | undefined;
  /** Ends the session immediately: its loop and promises reject with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** After `close`, milliseconds without a message until the session fails; default 120,000. */
  readonly closeTimeoutMs?: number | undefined;
  /** Receives the reason if a sentence cannot be spoken and is skipped. */
  readonly onWarning?: ((warning: { readonly code: string; readonly detail: string }) => void) | undefined;
}

/** Amount of audio that the service sent, and its price. */
export interface SentSpeech {
  readonly audioSeconds: number;
  readonly characters: number;
  readonly creditsCharged: number;
}

/** A turn that was flushed. */
export interface SpokenTurn extends SentSpeech {
  readonly turn: number;
  /**
   * Whether a `cancel` ended the turn. The numbers are then 0, and its audio is in the result of the cancel.
   */
  readonly isCancelled: boolean;
}

export interface CancelOptions {
  /** Seconds of a turn's audio that the listener heard. */
  readonly playedSeconds?: number | undefined;
  /** The turn that was playing; default: the last turn with audio. */
  readonly playedTurn?: number | undefined;
}

/** Result of a `cancel`. */
export interface CancelledSpeech extends SentSpeech {
  /** The last turn that was cancelled. */
  readonly turn: number;
  /**
   * How many code points of the playing turn's text the listener heard; null without `playedSeconds`, and for
   * models without word times.
   */
  readonly heard: { readonly turn: number; readonly characters: number } | null;
}

/** Audio of a sentence, or of part of one. */
export interface LiveSpeechFrame {
  /** Number of calls to `flush` and `cancel` before this turn's text was written. */
  readonly turn: number;
  /** Number of the sentence in the session, from 0. */
  readonly sentence: number;
  /** Text of the sentence, only in its first frame. */
  readonly text?: string | undefined;
  /** A complete WAV file: 16-bit PCM, mono. */
  readonly wav: Uint8Array<ArrayBuffer>;
  readonly sampleRateHz: number;
  /** Start of the frame within the turn's audio. */
  readonly startSeconds: number;
  readonly durationSeconds: number;
  /** Words that start in this frame, with times from its start; positions are in the turn's text. */
  readonly words: readonly SpeechWord[];
}

interface Sent {
  readonly audio_seconds: number;
  readonly characters: number;
  readonly credits_charged: number;
}

/** A text message from the service over `/v1/tts/live`. */
export type LiveSpeechMessage =
  | {
      readonly type: "ready";
      readonly session_id: string;
      readonly model: string;
      readonly voice: string;
      readonly encoding: "linear16" | "mulaw" | "alaw";
      readonly sample_rate: number;
    }
  | {
      readonly type: "audio";
      readonly turn: number;
      readonly sentence: number;
      readonly text?: string | undefined;
      readonly from: number;
      readonly start: number;
      readonly bytes: number;
      readonly words: readonly SpeechWord[];
      readonly last: boolean;
    }
  | ({ readonly type: "flushed"; readonly turn: number } & Sent)
  | ({
      readonly type: "cancelled";
      readonly turn: number;
      readonly heard?: { readonly turn: number; readonly characters: number } | undefined;
    } & Sent)
  | {
      readonly type: "warning";
      readonly code: string;
      readonly detail: string;
      readonly skipped?: { readonly turn: number; readonly to: number } | undefined;
    }
  | { readonly type: "going_away"; readonly deadline_s: number }
  | {
      readonly type: "error";
      readonly code: string;
      readonly detail: string;
      readonly retryable: boolean;
    }
  | ({ readonly type: "done" } & Sent);

/** Returns the options as query parameters of `/v1/tts/live`. */
export function liveSpeechQuery(options: LiveSpeechOptions): URLSearchParams {
  const { model, voice, speed, nfe, normalize, seed, organization_defaults, room_tone } = options;
  const manner = { model, voice, speed, nfe, normalize, seed, organization_defaults, room_tone };
  return queryOf({ ...manner, sample_rate: options.sampleRateHz });
}

export const NOTHING_SENT: SentSpeech = { audioSeconds: 0, characters: 0, creditsCharged: 0 };

export function sentOf({ audio_seconds, characters, credits_charged }: Sent): SentSpeech {
  return { audioSeconds: audio_seconds, characters, creditsCharged: credits_charged };
}
