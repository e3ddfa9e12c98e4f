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
  /** Counts from 0; only with `channels: "split"`. */
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

/** Format of samples without a header. */
export interface RawFormat {
  /** 16-bit little-endian PCM, or G.711. */
  readonly encoding: "linear16" | "mulaw" | "alaw";
  /** Default 16,000; for G.711 8,000. */
  readonly sampleRateHz?: number | undefined;
  /** Interleaved channels, 1 to 8; default 1. */
  readonly channelCount?: number | undefined;
}
