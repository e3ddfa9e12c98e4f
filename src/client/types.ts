// The wire format of the public API. The types are written out, and a test compares them with the protocol's
// schemas, so that users of the library need no schema library.

/** Body of a synthesis request. */
export interface SpeechRequest {
  /** At most 5,000 Unicode code points, the billed unit. */
  readonly text: string;
  /** Id of a speech model; default: the service's default. */
  readonly model?: string | undefined;
  /** A voice of the model; default: its default voice. */
  readonly voice?: string | undefined;
  /** Speaking rate, 0.5 to 2; default 1. */
  readonly speed?: number | undefined;
  /** Solver steps, 4 to 64; default 32: fewer are faster, more sound better. */
  readonly nfe?: number | undefined;
  /** Expands numbers, currency and dates into spoken Kazakh, or Russian for a Russian voice; true when absent. */
  readonly normalize?: boolean | undefined;
  /** Seed of the take, 0 to 2^32 - 1; default: derived from the text. */
  readonly seed?: number | undefined;
  /** Pronunciations of words in the text, at most 100. */
  readonly pronunciations?: readonly Pronunciation[] | undefined;
  /** Adds noise at -70 dB, so that pauses are not digital silence; default true. */
  readonly room_tone?: boolean | undefined;
}

/** Pronunciation of a word or phrase. */
export interface Pronunciation {
  /** As written in the text, in any case; a suffix after a hyphen may follow. */
  readonly word: string;
  /** How it sounds, in Kazakh letters. */
  readonly say: string;
}

/** Usage of a synthesis, from the response headers. */
export interface SpeechUsage {
  /** `x-request-id`, the ledger's reference for the charge. */
  readonly requestId: string | null;
  /** Billed characters of the whole text. */
  readonly characters: number | null;
  readonly creditsCharged: number | null;
  readonly model: string | null;
}

/** A word of the text with its times. */
export interface SpeechWord {
  /** As written in the text. */
  readonly word: string;
  /** The spoken form, if it differs: "екі мың" for "2000". */
  readonly spoken?: string | undefined;
  /** Seconds from the start of the WAV that contains the word. */
  readonly start: number;
  readonly end: number;
  /** Position in the text, in Unicode code points: the word is `[...text].slice(from, to)`. */
  readonly from: number;
  readonly to: number;
}

/** A synthesized text. */
export interface Speech {
  /** A WAV file: 24 kHz, 16-bit PCM, mono. */
  readonly wav: Uint8Array<ArrayBuffer>;
  readonly sampleRateHz: number;
  readonly durationSeconds: number;
  /** Only with `timestamps`. */
  readonly words?: readonly SpeechWord[] | undefined;
  readonly usage: SpeechUsage;
}

/** A synthesized sentence, or a part of one. */
export interface SpeechFrame {
  /** Counts frames from 0. */
  readonly sequence: number;
  /** A complete WAV file: 24 kHz, 16-bit PCM, mono. */
  readonly wav: Uint8Array<ArrayBuffer>;
  readonly sampleRateHz: number;
  /** Start of the frame in the speech: the sum of the durations before it. */
  readonly startSeconds: number;
  readonly durationSeconds: number;
  /**
   * Only with `timestamps`: words that start in this frame, with times from its start. The last word of a
   * chunk may end after the chunk.
   */
  readonly words?: readonly SpeechWord[] | undefined;
  readonly usage: SpeechUsage;
}

export interface TimedWord {
  /** In lower case, without punctuation. */
  readonly word: string;
  /** Seconds from the start of the audio. */
  readonly start: number;
  readonly end: number;
}

/** A word as people read it, with its capitals, figures and marks. */
export interface DisplayWord {
  readonly word: string;
  /** Seconds from the start of the audio. */
  readonly start: number;
  readonly end: number;
  /** The items [first, end) of `words` that it represents. */
  readonly spoken: readonly [number, number];
}

/** Kinds of personal data. */
export type RedactedKind = "phone" | "iin" | "card" | "email";

/** Personal data that was masked. */
export interface Redaction {
  readonly kind: RedactedKind;
  /** Seconds from the start of the audio. */
  readonly start: number;
  readonly end: number;
}

/** The channel of a recording that a part of its transcript belongs to. */
interface OfChannel {
  /** Counts from 0; only with `channels: "split"`, or `channelCount` of a live session. */
  readonly channel?: number | undefined;
}

/** The speaker of a part of a transcript. */
interface OfSpeaker {
  /** From 0 by first word; only with `diarize`. */
  readonly speaker?: number | undefined;
}

export interface FileWord extends TimedWord, OfChannel, OfSpeaker {}

/** With `channels: "split"`, `spoken` counts the words of the channel. */
export interface FileDisplayWord extends DisplayWord, OfChannel, OfSpeaker {}

export interface FileRedaction extends Redaction, OfChannel {}

/** Transcript of one channel, as in the transcript of a mono file with its samples. */
export interface ChannelTranscript {
  /** Counts from 0. */
  readonly channel: number;
  readonly text: string;
  readonly words?: readonly FileWord[] | undefined;
  readonly segments?: readonly TranscriptSegment[] | undefined;
  readonly display_text?: string | undefined;
  readonly display_words?: readonly FileDisplayWord[] | undefined;
  readonly redactions?: readonly FileRedaction[] | undefined;
}

export interface TranscriptSegment extends OfChannel {
  readonly id: number;
  readonly text: string;
  /** Seconds from the start of the audio. */
  readonly start: number;
  readonly end: number;
  /** Only with `display`. */
  readonly display_text?: string | undefined;
  /** Speaker of all its words, from 0 by first word; only with `diarize`. */
  readonly speaker?: number | undefined;
}

/** Transcript of a file. */
export interface Transcription {
  /** In lower case, without punctuation. */
  readonly text: string;
  readonly model: string;
  /** Duration of the audio, the billed quantity; with `channels: "split"`, each channel is billed. */
  readonly audio_seconds: number;
  readonly processing_seconds: number;
  /** processing_seconds / audio_seconds: below 1 is faster than real time. */
  readonly rtf: number | null;
  readonly x_realtime: number | null;
  /** Number of parts that the audio was split into at pauses. */
  readonly chunks: number;
  /** Hz. */
  readonly sample_rate_in: number;
  readonly credits_charged: number;
  /** Only with `timestamps` or `diarize`. */
  readonly words?: readonly FileWord[] | undefined;
  /** Only with `timestamps` or `diarize`; turns in order of time. */
  readonly segments?: readonly TranscriptSegment[] | undefined;
  /** Number of speakers that have words; only with `diarize`. */
  readonly speakers?: number | undefined;
  /** The text as people read it; only with `display`. */
  readonly display_text?: string | undefined;
  /** Only with `display` and `timestamps`. */
  readonly display_words?: readonly FileDisplayWord[] | undefined;
  /** Only with `redact`. */
  readonly redactions?: readonly FileRedaction[] | undefined;
  /** Transcripts of the channels, in order; only with `channels: "split"`. */
  readonly channels?: readonly ChannelTranscript[] | undefined;
}

interface InstalledModel {
  /** Same as `name`. */
  readonly id: string;
  readonly object: "model";
  /** Creation time of the weights, Unix seconds; 0 if unknown. */
  readonly created: number;
  readonly owned_by: "dauys";
  readonly name: string;
  /** Known limits, as text. */
  readonly notes: string | null;
  /** Whether it serves requests that specify no model. */
  readonly default: boolean;
}

/** A speech model. */
export interface Model extends InstalledModel {
  /** Language code. */
  readonly lang: string;
  /** Hz of its audio. */
  readonly sample_rate: number;
  readonly voices: readonly string[];
  readonly default_voice: string;
  /** Whether it supports `timestamps`. */
  readonly word_times: boolean;
  /** Whether it uses `nfe`; other models ignore it. */
  readonly solver_steps: boolean;
}

/** A recognition model. */
export interface Recognizer extends InstalledModel {
  /** Language codes, joined with hyphens. */
  readonly lang: string;
  /** Hz of its input; other rates are converted. */
  readonly sample_rate: number;
  /** Whether live sessions get partials. */
  readonly live_partials: boolean;
  /** Whether it supports hot words. */
  readonly hot_words: boolean;
  /** Whether it supports `diarize`; absent from services before that feature. */
  readonly diarize?: boolean | undefined;
}

export interface Voice {
  readonly name: string;
  readonly gender: string | null;
  readonly style: string | null;
  readonly best_for: string | null;
}

export interface Voices {
  readonly model: string;
  readonly voices: readonly Voice[];
}

export interface Health {
  readonly status: "ok";
  /** Model ids. */
  readonly models: readonly string[];
}

/** Whether the service accepts work now. */
export interface Readiness {
  readonly isReady: boolean;
  /** Why it does not; null if it does. */
  readonly detail: string | null;
}

/** Credits of an organization, in whole numbers. */
/** The key that asks, with its limits. */
export interface KeyInfo {
  readonly id: string;
  readonly name: string | null;
  /** Monthly cap in credits; null for none. */
  readonly monthly_credits: number | null;
  /** The current month, UTC, `2026-11`. */
  readonly month: string;
  /** Credits charged to the key for work begun this month. */
  readonly credits: number;
  /** Credits held for its running work. */
  readonly held: number;
  /** Endpoints that it is limited to; null for all. */
  readonly endpoints: readonly ("tts" | "transcribe" | "live" | "jobs" | "account:read")[] | null;
  readonly expires_at: string | null;
}

export interface Balance {
  /** Includes held credits. */
  readonly balance: number;
  /** Reserved for running work. */
  readonly held: number;
  /** Available to new work: `balance` minus `held`. */
  readonly available: number;
  /** `paid` after the first payment. */
  readonly tier: "free" | "paid";
}

/** Usage of one day, kind and path. */
export interface UsageRow {
  /** UTC, `2026-11-21`. */
  readonly day: string;
  readonly kind: "synthesis" | "file" | "live";
  /** Path of the endpoint. */
  readonly endpoint: string | null;
  readonly requests: number;
  /** Amount in `unit`. */
  readonly quantity: number;
  readonly unit: "characters" | "seconds";
  readonly credits: number;
}

export interface Usage {
  /** First day. */
  readonly from: string;
  /** Last day. */
  readonly to: string;
  /** Sorted by day, kind and path; days without usage are omitted. */
  readonly data: readonly UsageRow[];
}

export type JobStatus = "queued" | "running" | "done" | "failed" | "cancelled";

/** A transcription that outlives its request. */
export interface Job {
  /** `job_` and 32 hex digits. */
  readonly id: string;
  readonly status: JobStatus;
  /** Transcribed share of the audio, 0 to 1. */
  readonly share: number;
  readonly model: string;
  readonly file_name: string | null;
  /** Address of the audio; null for an upload. */
  readonly url: string | null;
  /** Times are ISO 8601 in UTC. */
  readonly created_at: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  /** When the job and its result are deleted. */
  readonly expires_at: string | null;
  /** Known once it is done, like the credits. */
  readonly audio_seconds: number | null;
  readonly credits_charged: number | null;
  /** Why it failed. */
  readonly error: { readonly code: string; readonly detail: string } | null;
  /** Null without a webhook. */
  readonly webhook: "pending" | "delivered" | "failed" | null;
}

export interface JobList {
  /** Newest first. */
  readonly data: readonly Job[];
  /** `after` of the next page; null on the last one. */
  readonly next: string | null;
}

export interface JobEnd {
  readonly id: string;
  readonly status: "cancelled" | "deleted";
}

export interface WebhookSecret {
  /** Key of the HMAC in `Dauys-Signature`. */
  readonly secret: string;
  readonly created_at: string;
}

export interface StreamToken {
  /** Opens one live socket. */
  readonly token: string;
  /** Seconds. */
  readonly expires_in: number;
}

interface LiveUtterance extends OfChannel {
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

/** Format of samples without a header. */
export interface RawFormat {
  /** 16-bit little-endian PCM, or G.711. */
  readonly encoding: "linear16" | "mulaw" | "alaw";
  /** Default 16,000; for G.711 8,000. */
  readonly sampleRateHz?: number | undefined;
  /** Interleaved channels, 1 to 8; default 1. */
  readonly channelCount?: number | undefined;
}
