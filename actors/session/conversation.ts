import type { KeyIdentity } from "../../src/ports/key-store.js";
import type { SynthesizedPiece } from "../../src/ports/synthesizer.js";
import type { FileTranscript } from "../../src/ports/transcriber.js";
import type { StreamOptions, StreamServerMessage } from "../../src/protocol/stream-messages.js";
import type { SynthesisRequest } from "../../src/protocol/synthesis-request.js";

/** Why a conversation was ended from outside. */
export type StopReason = "client-left" | "service-stops";

/** What every request carries: who asks and the id that ties its log lines together. */
export interface Caller {
  readonly requestId: string;
  readonly identity: KeyIdentity;
}

/** A synthesis in progress, sentence by sentence. */
export interface SynthesisConversation {
  /** Unicode code points of the submitted text. */
  readonly billedCharacters: number;
  readonly sampleRateHz: number;
  /** Finished sentences in order; at most two are made ahead of the reader. Throws `SpeechError`. */
  sentences(): AsyncIterable<SynthesizedPiece>;
  /** Ends the work within one solver step; may be called twice, and after the end. */
  stop(reason: StopReason): void;
}

/** A file transcription in progress. */
export interface TranscriptionConversation {
  readonly transcript: Promise<FileTranscript & { readonly processingSeconds: number }>;
  stop(reason: StopReason): void;
}

/** Where a live session's messages go. */
export interface LiveSink {
  send(message: StreamServerMessage): void;
  /** Closes the socket after what was sent; the session is over. */
  close(code: number, reason: string): void;
}

/** A live session as the socket sees it. */
export interface LiveConversation {
  /** PCM16LE bytes in any cut; copied before return. */
  audio(bytes: Uint8Array): void;
  finalize(): void;
  /** Finish, settle, `done`, 1000. */
  close(): void;
  keepalive(): void;
  /** The client sent text that is not JSON: `error bad_message`. */
  badMessage(detail: string): void;
  /** The socket is gone. */
  disconnected(): void;
  /** The service stops: `going_away`, finish within the deadline, 1012. */
  goingAway(deadlineSeconds: number): void;
}

export interface CatalogVoice {
  readonly name: string;
  readonly gender: string | null;
  readonly style: string | null;
  readonly best_for: string | null;
}

export interface CatalogModel {
  readonly name: string;
  readonly task: "synthesis" | "transcription";
  readonly lang: string;
  readonly sample_rate: number;
  readonly voices: readonly CatalogVoice[];
  readonly default_voice: string;
}

/** Everything the transport may start. Made by `main.ts` out of session actors and engines. */
export interface Conversations {
  readonly models: readonly CatalogModel[];
  /** @throws {SpeechError} `UNKNOWN_MODEL`, `UNKNOWN_VOICE`, `NOTHING_TO_SAY`, `SHUTTING_DOWN` */
  synthesis(caller: Caller, request: SynthesisRequest): SynthesisConversation;
  /** `path` is a PCM WAV file that stays in place until the transcript has settled. */
  transcription(caller: Caller, path: string): TranscriptionConversation;
  live(caller: Caller, options: StreamOptions, sink: LiveSink): LiveConversation;
}
