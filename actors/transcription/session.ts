import type { FileTranscript, TimedTranscript } from "../../core/domain/decoding/transcript.js";
import { ServiceError, shuttingDown } from "../../core/domain/errors.js";
import type { Clock } from "../../core/ports/clock.js";
import type { StopReason } from "../../core/ports/conversations.js";

/** One client's file. It ends with its transcript, a failure or a stop, whichever is first. */
export class TranscriptionSession {
  /** Rejects with the work's error, or immediately with `CANCELLED` or `SHUTTING_DOWN` on `stop`. */
  readonly transcript: Promise<TimedTranscript>;
  readonly #abort = new AbortController();
  #isOver = false;

  /** @param transcribe must stop early when its signal is aborted */
  constructor(clock: Clock, transcribe: (signal: AbortSignal) => Promise<FileTranscript>) {
    const startedAtMs = clock.nowMs();
    const { signal } = this.#abort;
    const stopped = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    const timed = async () => {
      const transcript = await transcribe(signal);
      return { ...transcript, processingSeconds: (clock.nowMs() - startedAtMs) / 1_000 };
    };
    this.transcript = Promise.race([timed(), stopped]).finally(() => {
      this.#isOver = true;
    });
  }

  /** Stops the transcription; may be called twice, and after it has ended. */
  stop(reason: StopReason): void {
    if (this.#isOver) return;
    this.#abort.abort(
      reason === "client-left"
        ? new ServiceError("CANCELLED", "transcription was cancelled")
        : shuttingDown(),
    );
  }
}
