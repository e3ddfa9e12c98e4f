import { once } from "node:events";
import type { Conversations } from "../../core/ports/conversations.js";

/** Longest wait for the requests in progress: a job must go on even if there are always some. */
const LONGEST_WAIT_MS = 100;

/** Counts the transcriptions that clients wait for, so that the main thread's work for jobs can let them pass. */
export class OngoingRequests {
  readonly #ends = new EventTarget();
  readonly #longestWaitMs: number;
  #count = 0;

  constructor(longestWaitMs = LONGEST_WAIT_MS) {
    this.#longestWaitMs = longestWaitMs;
  }

  /** Returns the same transcription, counted from its start to its end. */
  counting(transcription: Conversations["transcription"]): Conversations["transcription"] {
    return (caller, path, wishes) => {
      const conversation = transcription(caller, path, wishes);
      const end = this.#begin();
      conversation.transcript.then(end, end);
      return conversation;
    };
  }

  /** Returns the same expectation of a file, counted until it ends. */
  countingExpected(expectFile: Conversations["expectFile"]): Conversations["expectFile"] {
    return () => {
      const leave = expectFile();
      const end = this.#begin();
      return (isTranscribed) => {
        leave(isTranscribed);
        end();
      };
    };
  }

  /** Counts a request until the returned function is called. */
  #begin(): () => void {
    let isOver = false;
    this.#count++;
    return () => {
      if (isOver) return;
      isOver = true;
      if (--this.#count === 0) this.#ends.dispatchEvent(new Event("none"));
    };
  }

  /** Resolves when no request is in progress, at the latest after the longest wait or when the signal is aborted. */
  async pass(signal: AbortSignal): Promise<void> {
    if (this.#count === 0) return;
    const ended = AbortSignal.any([signal, AbortSignal.timeout(this.#longestWaitMs)]);
    await once(this.#ends, "none", { signal: ended }).catch(() => {});
  }

  /** Passes on the chunks, each once the requests have passed. */
  async *behind(
    chunks: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of chunks) {
      yield chunk;
      await this.pass(signal);
    }
  }
}
