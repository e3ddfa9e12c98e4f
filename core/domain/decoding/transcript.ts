import type { RedactedKind } from "../text/redaction/redact.js";
import type { TimedWord } from "./words.js";

/** A word of a file; engine nodes of earlier versions send no confidence. */
export interface FileWord extends TimedWord {
  readonly confidence?: number;
  /** Speaker number, counted from 0 in order of first word; only if the client requested speakers. */
  readonly speaker?: number;
}

/** A word as people read it, with digits, capitals and punctuation. */
export interface ReadableWord extends TimedWord {
  /** Speaker of its first spoken word; see `FileWord`. */
  readonly speaker?: number;
  /** The words [first, end) of the transcript that it stands for. */
  readonly spoken: readonly [number, number];
}

/** Personal data that was masked, in seconds. */
export interface RedactedSpan {
  readonly kind: RedactedKind;
  /** See `TranscribedSegment`. */
  readonly channel?: number;
  readonly start: number;
  readonly end: number;
}

/** A run of speech between two pauses, in seconds from the start of the file. */
export interface TranscribedSegment {
  /** Counts from 0; present if the channels were transcribed separately. */
  readonly channel?: number;
  readonly text: string;
  readonly startSeconds: number;
  readonly endSeconds: number;
  readonly words: readonly FileWord[];
  /** Speaker of all its words; present if the client requested speakers. */
  readonly speaker?: number;
  /** Words as people read them; present if `isDisplayed`. Their `spoken` counts the words of the channel. */
  readonly readable?: readonly ReadableWord[];
}

export interface FileTranscript {
  /** In order of time. */
  readonly segments: readonly TranscribedSegment[];
  /** The client requested readable text. */
  readonly isDisplayed?: boolean;
  /** Present if the client requested masking of personal data. */
  readonly redactions?: readonly RedactedSpan[];
  /** Speakers with words; present if the client requested speakers. */
  readonly speakerCount?: number;
  /** Samples of the submitted audio per channel; with the rate below, the duration of the file. */
  readonly sampleCountIn: number;
  readonly sampleRateInHz: number;
  /** Channels that were transcribed separately, each of which is billed; absent if they were mixed. */
  readonly channelCount?: number;
  readonly modelId: string;
}

export type FileLength = Pick<FileTranscript, "sampleCountIn" | "sampleRateInHz" | "channelCount">;

export interface TimedTranscript extends FileTranscript {
  readonly processingSeconds: number;
}

/** A charged transcript, for the client. */
export interface BilledTranscript extends TimedTranscript {
  readonly creditsCharged: number;
}
