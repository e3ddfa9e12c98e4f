import type { RedactedKind } from "../text/redaction/redact.js";
import type { TimedWord } from "./words.js";

/** A word as people read it, with figures, capitals and marks. */
export interface ReadableWord extends TimedWord {
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
  readonly words: readonly TimedWord[];
  /** Words as people read them; present if `isDisplayed`. */
  readonly readable?: readonly ReadableWord[];
}

export interface FileTranscript {
  readonly segments: readonly TranscribedSegment[];
  /** The client requested readable text. */
  readonly isDisplayed?: boolean;
  /** Present if the client requested masking of personal data. */
  readonly redactions?: readonly RedactedSpan[];
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
