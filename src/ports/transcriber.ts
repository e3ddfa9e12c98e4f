import type { HotWord } from "../domain/decoding/hot-words.js";
import type { FileLength, FileTranscript } from "../domain/decoding/transcript.js";

export interface Transcriber {
  /**
   * Transcribes a PCM WAV file on disk in bounded memory.
   *
   * @param onLength told the length as soon as it is known, before any decoding; when it fails, so does the work
   * @param hotWords words to be preferred, in the model's alphabet
   * @throws {ServiceError} `AUDIO_UNREADABLE`, `AUDIO_TOO_SHORT`, `AUDIO_TOO_LONG`, `CANCELLED`, `WORKER_LOST`
   */
  transcribe(
    path: string,
    signal: AbortSignal,
    onLength?: (length: FileLength) => Promise<void>,
    hotWords?: readonly HotWord[],
  ): Promise<FileTranscript>;
}
