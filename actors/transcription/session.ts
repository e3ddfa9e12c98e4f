import type { HotWord } from "../../src/domain/decoding/hot-words.js";
import type { FileLength, FileTranscript } from "../../src/domain/decoding/transcript.js";
import { ServiceError } from "../../src/domain/errors.js";
import type { Clock } from "../../src/ports/clock.js";
import type { StopReason } from "../../src/ports/conversations.js";
import type { Transcriber } from "../../src/ports/transcriber.js";
import { Actor, type Decision } from "../kernel/actor.js";

/** A file is being transcribed until it has a transcript, fails, or nobody wants it any more. */
export type TranscriptionState = { readonly phase: "transcribing" } | { readonly phase: "ended" };

export type TranscriptionMessage =
  | { readonly type: "transcribed"; readonly transcript: FileTranscript }
  | { readonly type: "failed"; readonly error: unknown }
  | { readonly type: "stop"; readonly reason: StopReason };

export type TranscriptionEffect =
  | { readonly type: "answer"; readonly transcript: FileTranscript }
  | { readonly type: "refuse"; readonly error: unknown }
  | { readonly type: "cancel" };

/** Pure: the first ending counts, whatever comes after it is too late. */
export function decideTranscription(
  state: TranscriptionState,
  message: TranscriptionMessage,
): Decision<TranscriptionState, TranscriptionEffect> {
  if (state.phase === "ended") return { state, effects: [] };
  const ended: TranscriptionState = { phase: "ended" };
  switch (message.type) {
    case "transcribed":
      return { state: ended, effects: [{ type: "answer", transcript: message.transcript }] };
    case "failed":
      return { state: ended, effects: [{ type: "refuse", error: message.error }] };
    case "stop": {
      const error =
        message.reason === "client-left"
          ? new ServiceError("CANCELLED", "transcription was cancelled")
          : new ServiceError("SHUTTING_DOWN", "the service is stopping");
      return { state: ended, effects: [{ type: "cancel" }, { type: "refuse", error }] };
    }
  }
}

export type TimedTranscript = FileTranscript & { readonly processingSeconds: number };

/** One client's file. */
export class TranscriptionSession {
  readonly transcript: Promise<TimedTranscript>;
  readonly #actor: Actor<TranscriptionState, TranscriptionMessage, TranscriptionEffect>;

  constructor(
    path: string,
    transcriber: Transcriber,
    clock: Clock,
    onLength?: (length: FileLength) => Promise<void>,
    hotWords?: readonly HotWord[],
  ) {
    const abort = new AbortController();
    const startedAtMs = clock.nowMs();
    const { promise, resolve, reject } = promiseWithResolvers<TimedTranscript>();
    this.transcript = promise;
    this.#actor = new Actor({
      initial: { phase: "transcribing" },
      decide: decideTranscription,
      perform: (effect) => {
        if (effect.type === "cancel") abort.abort();
        else if (effect.type === "refuse") reject(effect.error);
        else resolve({ ...effect.transcript, processingSeconds: (clock.nowMs() - startedAtMs) / 1_000 });
      },
      onCrash: reject,
    });
    transcriber.transcribe(path, abort.signal, onLength, hotWords).then(
      (transcript) => this.#actor.tell({ type: "transcribed", transcript }),
      (error: unknown) => this.#actor.tell({ type: "failed", error }),
    );
  }

  stop(reason: StopReason): void {
    this.#actor.tell({ type: "stop", reason });
  }
}

/** `Promise.withResolvers`, which Node 20 lacks. */
function promiseWithResolvers<T>(): {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (error: unknown) => void;
} {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
