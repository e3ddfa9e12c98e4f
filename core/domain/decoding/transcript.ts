import type { TimedWord } from "./words.js";

/** A word of a file; engine nodes of earlier versions send no confidence. */
export interface FileWord extends TimedWord {
  readonly confidence?: number;
}

/** A run of speech between two pauses, in seconds from the start of the file. */
export interface TranscribedSegment {
  readonly text: string;
  readonly startSeconds: number;
  readonly endSeconds: number;
  readonly words: readonly FileWord[];
}

export interface FileTranscript {
  readonly segments: readonly TranscribedSegment[];
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
