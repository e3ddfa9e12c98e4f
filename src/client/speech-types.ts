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
  /** Whether the organization's stored pronunciations apply too; default true. */
  readonly organization_defaults?: boolean | undefined;
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
