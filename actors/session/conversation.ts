import type { UsageKind } from "../../src/domain/usage/tariff.js";
import type { KeyIdentity } from "../../src/ports/key-store.js";
import type { SynthesizedPiece } from "../../src/ports/synthesizer.js";
import type { FileTranscript } from "../../src/ports/transcriber.js";
import type { Delivery } from "../../src/ports/usage-meter.js";
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
  /** To be called before the first byte of audio is queued, with `whole` when all of it follows at once. */
  charge(delivery: Delivery): Promise<void>;
  /** To be called after `charge("begun")`, when all audio is queued and only the end of the answer is missing. */
  complete(): Promise<void>;
  /** Ends the work within one solver step; may be called twice, and after the end. */
  stop(reason: StopReason): void;
}

/** What a transcription gives: charged, and timed. */
export interface BilledTranscript extends FileTranscript {
  readonly processingSeconds: number;
  readonly creditsCharged: number;
}

/** A file transcription in progress. */
export interface TranscriptionConversation {
  readonly transcript: Promise<BilledTranscript>;
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
  /**
   * Refuses a caller who could not begin any work of this kind, before an upload or a socket is taken.
   * @throws {SpeechError} `OUT_OF_CREDITS`, `AUTH_UNAVAILABLE`
   */
  requireCredit(caller: Caller, kind: UsageKind): Promise<void>;
  live(caller: Caller, options: StreamOptions, sink: LiveSink): LiveConversation;
}
