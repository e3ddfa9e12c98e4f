import type { RedactedKind } from "../text/redaction/redact.js";
import type { TimedWord } from "./words.js";

/** A word of a file; engine nodes of earlier versions send no confidence. */
export interface FileWord extends TimedWord {
  readonly confidence?: number;
  /** From 0 by first word; present if the client requested speakers. */
  readonly speaker?: number;
}

/** A word as people read it, with figures, capitals and marks. */
export interface ReadableWord extends TimedWord {
  /** As in `FileWord`: of its first spoken word. */
  readonly speaker?: number;
  /** The words [first, end) of the transcript that it stands for. */
  readonly spoken: readonly [number, number];
}

/** Personal data that was masked, in seconds. */
export interface RedactedSpan {
  readonly kind: RedactedKind;
  readonly start: number;
  readonly end: number;
}

/** A run of speech between two pauses, in seconds from the start of the file. */
export interface TranscribedSegment {
  readonly text: string;
  readonly startSeconds: number;
  readonly endSeconds: number;
  readonly words: readonly FileWord[];
  /** Speaker of all its words; present if the client requested speakers. */
  readonly speaker?: number;
  /** Words as people read them; present if `isDisplayed`. */
  readonly readable?: readonly ReadableWord[];
}

export interface FileTranscript {
  readonly segments: readonly TranscribedSegment[];
  /** The client requested readable text. */
  readonly isDisplayed?: boolean;
  /** Present if the client requested masking of personal data. */
  readonly redactions?: readonly RedactedSpan[];
  /** Speakers with words; present if the client requested speakers. */
  readonly speakerCount?: number;
  /** Samples of the submitted audio per channel; with the rate below, the billed duration. */
  readonly sampleCountIn: number;
  readonly sampleRateInHz: number;
  readonly modelId: string;
}

export type FileLength = Pick<FileTranscript, "sampleCountIn" | "sampleRateInHz">;

export interface TimedTranscript extends FileTranscript {
  readonly processingSeconds: number;
}

/** A charged transcript, for the client. */
export interface BilledTranscript extends TimedTranscript {
  readonly creditsCharged: number;
}
