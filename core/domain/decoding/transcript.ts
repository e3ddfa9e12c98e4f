import type { TimedWord } from "./words.js";

/** A run of speech between two pauses; times in seconds from the start of the file. */
export interface TranscribedSegment {
  readonly text: string;
  readonly startSeconds: number;
  readonly endSeconds: number;
  readonly words: readonly TimedWord[];
}

export interface FileTranscript {
  readonly segments: readonly TranscribedSegment[];
  /** Samples of the submitted audio per channel at its own rate; with the rate below this is the billed duration. */
  readonly sampleCountIn: number;
  readonly sampleRateInHz: number;
  readonly modelId: string;
}

/** The length of a file, in samples per channel at its own rate. */
export type FileLength = Pick<FileTranscript, "sampleCountIn" | "sampleRateInHz">;

/** A transcript, and how long the service has worked for it. */
export interface TimedTranscript extends FileTranscript {
  readonly processingSeconds: number;
}

/** What a client gets: a transcript that is charged. */
export interface BilledTranscript extends TimedTranscript {
  readonly creditsCharged: number;
}
