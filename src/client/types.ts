// The shapes of the public interface, member by member as they go over the wire. They are written out, and compared with
// the protocol's schemas by a test, so that users of the library need no schema library for its types.

/** What to say, and how. */
export interface SpeechRequest {
  /** At most 5,000 Unicode code points, which are what is billed. */
  readonly text: string;
  /** Id of a model that speaks; the service's default when absent. */
  readonly model?: string | undefined;
  /** A voice of the model; its default voice when absent. */
  readonly voice?: string | undefined;
  /** Tempo, 0.5 to 2; 1 when absent. */
  readonly speed?: number | undefined;
  /** Solver steps, 4 to 64: 16 is fast, 32 (when absent) is quality. */
  readonly nfe?: number | undefined;
  /** Expands numbers, currency and dates into spoken Kazakh, or Russian for a Russian voice; true when absent. */
  readonly normalize?: boolean | undefined;
  /** Another take of the same text, 0 to 2^32 - 1; the text's own when absent. */
  readonly seed?: number | undefined;
  /** How words of the text are said, at most 100. */
  readonly pronunciations?: readonly Pronunciation[] | undefined;
  /** Noise at -70 dB under the whole answer, as in a room; false leaves digital silence where nobody speaks. True when absent. */
  readonly room_tone?: boolean | undefined;
}

/** How one word, or phrase, of a text is said. */
export interface Pronunciation {
  /** As it is written in the text, in any case; endings after a hyphen may follow. */
  readonly word: string;
  /** In Kazakh letters, as it sounds. */
  readonly say: string;
}

/** What an answer says about itself. */
export interface SpeechUsage {
  /** `x-request-id`, under which the ledger keeps the charge. */
  readonly requestId: string | null;
  /** Billed characters of the whole text. */
  readonly characters: number | null;
  /** Credits charged, where the answer says them. */
  readonly creditsCharged: number | null;
  /** The model that spoke; null where the answer does not say it. */
  readonly model: string | null;
}

/** A word of the text, and when it is said. */
export interface SpeechWord {
  /** The characters of the text as they were sent. */
  readonly word: string;
  /** What is said for them, where it is not the word itself: "екі мың" for "2000". */
  readonly spoken?: string | undefined;
  /** Seconds from the start of the WAV that the word came with. */
  readonly start: number;
  /** Seconds from the start of the WAV that the word came with. */
  readonly end: number;
  /** Where in the text the word begins, in Unicode code points, which are also what is billed: `[...text].slice(from, to)`. */
  readonly from: number;
  /** One past the word's last code point. */
  readonly to: number;
}

/** A whole spoken text. */
export interface Speech {
  /** A WAV file: 24 kHz, 16-bit PCM, mono. */
  readonly wav: Uint8Array<ArrayBuffer>;
  readonly sampleRateHz: number;
  readonly durationSeconds: number;
  /** Only with `timestamps`. */
  readonly words?: readonly SpeechWord[] | undefined;
  readonly usage: SpeechUsage;
}

/** One spoken sentence of a text, or a part of one. */
export interface SpeechFrame {
  /** From 0, rising by one. */
  readonly sequence: number;
  /** A WAV file that plays by itself: 24 kHz, 16-bit PCM, mono. */
  readonly wav: Uint8Array<ArrayBuffer>;
  readonly sampleRateHz: number;
  /** Where the frame begins in the whole speech: the durations before it. */
  readonly startSeconds: number;
  readonly durationSeconds: number;
  /**
   * Only with `timestamps`: the words that begin in this frame; their times count from its beginning. The last of a chunk may
   * end after it.
   */
  readonly words?: readonly SpeechWord[] | undefined;
  readonly usage: SpeechUsage;
}

export interface TimedWord {
  /** Lowercase, unpunctuated. */
  readonly word: string;
  /** Seconds from the start of the audio. */
  readonly start: number;
  /** Seconds from the start of the audio. */
  readonly end: number;
}

export interface TranscriptSegment {
  readonly id: number;
  readonly text: string;
  /** Seconds from the start of the audio. */
  readonly start: number;
  /** Seconds from the start of the audio. */
  readonly end: number;
}

/** A file, written down. */
export interface Transcription {
  /** Lowercase, unpunctuated. */
  readonly text: string;
  readonly model: string;
  /** Duration of the submitted audio, the billed quantity. */
  readonly audio_seconds: number;
  readonly processing_seconds: number;
  /** processing_seconds / audio_seconds: below 1 is faster than real time. */
  readonly rtf: number | null;
  readonly x_realtime: number | null;
  /** Pieces the audio was split into at pauses. */
  readonly chunks: number;
  /** Hz. */
  readonly sample_rate_in: number;
  readonly credits_charged: number;
  /** Only with `timestamps`. */
  readonly words?: readonly TimedWord[] | undefined;
  /** Only with `timestamps`. */
  readonly segments?: readonly TranscriptSegment[] | undefined;
}

interface InstalledModel {
  /** The same as `name`. */
  readonly id: string;
  readonly object: "model";
  /** When its weights were made, Unix seconds; 0 when that is not known. */
  readonly created: number;
  readonly owned_by: "dauys";
  readonly name: string;
  /** What it cannot do, in plain sentences. */
  readonly notes: string | null;
  /** Whether it answers requests that name no model. */
  readonly default: boolean;
}

/** A model that speaks. */
export interface Model extends InstalledModel {
  /** Language code. */
  readonly lang: string;
  /** Of the sound it makes, in Hz. */
  readonly sample_rate: number;
  readonly voices: readonly string[];
  readonly default_voice: string;
  /** Whether it tells when it says its words, with `timestamps`. */
  readonly word_times: boolean;
  /** Whether it takes `nfe`; other models ignore it. */
  readonly solver_steps: boolean;
}

/** A model that transcribes. */
export interface Recognizer extends InstalledModel {
  /** Language codes, with hyphens between. */
  readonly lang: string;
  /** Of the audio it hears, in Hz; files of others are converted. */
  readonly sample_rate: number;
  /** Whether it tells what it hears before an utterance has ended. */
  readonly live_partials: boolean;
  /** Whether it takes words and phrases to be preferred. */
  readonly hot_words: boolean;
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

/** Whether the service takes work now. */
export interface Readiness {
  readonly isReady: boolean;
  /** Why it does not, in the service's words; null while it does. */
  readonly detail: string | null;
}

/** The credits of an organization, whole ones. */
export interface Balance {
  /** Those that are held too. */
  readonly balance: number;
  /** Set aside for work that is running. */
  readonly held: number;
  /** What new work may take: `balance` less `held`. */
  readonly available: number;
  /** `paid` once credits were bought. */
  readonly tier: "free" | "paid";
}

/** What a day's work of one kind on one path was. */
export interface UsageRow {
  /** UTC, `2026-11-21`. */
  readonly day: string;
  readonly kind: "synthesis" | "file" | "live";
  /** Path that the work came by. */
  readonly endpoint: string | null;
  readonly requests: number;
  /** How much, in `unit`. */
  readonly quantity: number;
  readonly unit: "characters" | "seconds";
  readonly credits: number;
}

export interface Usage {
  /** First day. */
  readonly from: string;
  /** Last day. */
  readonly to: string;
  /** By day, kind and path; days without work are left out. */
  readonly data: readonly UsageRow[];
}

export interface StreamToken {
  /** Opens one live socket. */
  readonly token: string;
  /** Seconds. */
  readonly expires_in: number;
}

interface LiveUtterance {
  /** From 0; rises by one with each final. */
  readonly utterance: number;
  readonly text: string;
  /** Seconds of audio since the first that was sent. */
  readonly start: number;
  /** Seconds of audio since the first that was sent. */
  readonly end: number;
}

/** Text that may still change. */
export interface LivePartial extends LiveUtterance {
  readonly type: "partial";
  /** Code points at the beginning of `text` that later partials of this utterance keep, as long as its socket lasts. */
  readonly stable: number;
}

/** Text that never changes again. */
export interface LiveFinal extends LiveUtterance {
  readonly type: "final";
  /** Only with `words`. */
  readonly words?: readonly ScoredWord[] | undefined;
}

export interface ScoredWord extends TimedWord {
  /** How sure the word is, 0 to 1. */
  readonly confidence: number;
}

export type LiveResult = LivePartial | LiveFinal;

/** What the service sends over a live socket. Times are seconds of audio that this socket accepted. */
export type LiveMessage =
  | {
      readonly type: "ready";
      readonly session_id: string;
      readonly request_id: string;
      readonly model: string;
      readonly sample_rate: number;
      readonly eou_ms: number;
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
  | { readonly type: "done"; readonly audio_seconds: number; readonly credits_charged: number };
