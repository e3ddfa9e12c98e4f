import type { HotWord } from "../domain/decoding/hot-words.js";
import type { TimedWord } from "../domain/decoding/words.js";

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

export interface Transcriber {
  /**
   * Transcribes a PCM WAV file on disk in bounded memory.
   *
   * @param onLength told the length as soon as it is known, before any decoding; when it fails, so does the work
   * @param hotWords words to be preferred, in the model's alphabet
   * @throws {SpeechError} `AUDIO_UNREADABLE`, `AUDIO_TOO_SHORT`, `AUDIO_TOO_LONG`, `CANCELLED`, `WORKER_LOST`
   */
  transcribe(
    path: string,
    signal: AbortSignal,
    onLength?: (length: FileLength) => Promise<void>,
    hotWords?: readonly HotWord[],
  ): Promise<FileTranscript>;
}
