import type { Catalog } from "../domain/catalog/catalog.js";
import type { HotWord } from "../domain/decoding/hot-words.js";
import type { BilledTranscript } from "../domain/decoding/transcript.js";
import type { SaidWord } from "../domain/synthesis/word-times.js";
import type { UsageKind } from "../domain/usage/tariff.js";
import type { StreamOptions, StreamServerMessage } from "../protocol/stream-messages.js";
import type { SynthesisRequest } from "../protocol/synthesis-request.js";
import type { Departure } from "./front.js";
import type { Paid } from "./idempotency.js";
import type { KeyIdentity } from "./key-store.js";
import type { Span } from "./span.js";

/** Why a conversation was ended from outside. */
export type StopReason = "client-left" | "service-stops";

/** What every request carries: who asks and the id that ties its log lines together. */
export interface Caller {
  readonly requestId: string;
  readonly identity: KeyIdentity;
  /** Path of the interface that the request came by. */
  readonly endpoint: string;
  /** Pieces of this kind of work that the organization may have at once, on all services together. */
  readonly mostAtOnce?: number;
  /** What was charged for this very work before, under an idempotency key. */
  readonly paid?: Paid;
  /** Of the whole request; of no trace when absent. */
  readonly span?: Span;
  /** Told how long the request has waited for its model, in milliseconds, each time it needed one. */
  readonly onModelWait?: (waitedMs: number) => void;
}

/** How audio goes to the client: as it is made, sentence by sentence, or all of it at the end. */
export type Delivery = "chunks" | "sentences" | "whole";

/** Some samples of a synthesis; none may be left for the end of a sentence. Mono, 16-bit. */
export interface SpeechChunk {
  readonly pcm: Int16Array;
  readonly sampleRateHz: number;
  readonly endsSentence: boolean;
  /**
   * Words of the sentence, in order, each once: those that begin in these samples where the model tells so soon when it says
   * them, the rest where the sentence ends. Samples count from the sentence's first.
   */
  readonly words?: readonly SaidWord[] | undefined;
}

/** A synthesis in progress. */
export interface SynthesisConversation {
  /** The model that speaks. */
  readonly modelId: string;
  /** Unicode code points of the submitted text. */
  readonly billedCharacters: number;
  /** What the work costs, once it is charged. */
  readonly creditsCharged: number;
  readonly sampleRateHz: number;
  /** Upper guess at the bytes of samples that are in memory at once, however slowly they are read. */
  readonly mostHeldBytes: number;
  /**
   * Audio in order, as it is made; at most two sentences are made ahead of the reader, and a minute of speech. A reader who asks for another chunk has
   * sent the one before. Throws `ServiceError`.
   */
  chunks(): AsyncIterable<SpeechChunk>;
  /** To be called right before the first byte of audio is queued. Throws `ServiceError` when that must not happen. */
  charge(): Promise<void>;
  /** Goes with the last bytes of each sentence that is sent as it is made. */
  readonly sentence: Departure;
  /** Goes with the last bytes of an answer that is sent as a whole. */
  readonly answer: Departure;
  /** To be called as soon as the last byte has gone out, in the same turn of the event loop. */
  complete(): void;
  /** Ends the work within one solver step; may be called twice, and after the end. */
  stop(reason: StopReason): void;
}

/** A file transcription in progress. */
export interface TranscriptionConversation {
  /** Charged when it settles: to be answered at once. */
  readonly transcript: Promise<BilledTranscript>;
  /** Goes with the last bytes of the answer. */
  readonly answer: Departure;
  /** To be called as soon as the last byte of the answer has gone out, in the same turn of the event loop. */
  complete(): void;
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
  /** The key has ended: `error unauthorized`, 4401; what was accepted is settled. */
  unauthorized(detail: string): void;
}

/** What a live session is opened with. */
export interface LiveWishes extends StreamOptions {
  /** Id of the model that hears. */
  readonly model: string;
}

/** What a file is transcribed with. */
export interface FileWishes {
  /** Id of the model that hears. */
  readonly model: string;
  readonly hotWords: readonly HotWord[];
  /** Told the share that is done, 0 to 1, from when the credits are held. */
  readonly onProgress?: (share: number) => void;
}

/** Everything that clients may start; put together in `src/service/conversations.ts`. */
export interface Conversations {
  readonly catalog: Catalog;
  /** @throws {ServiceError} `UNKNOWN_MODEL`, `UNKNOWN_VOICE`, `NOTHING_TO_SAY`, `TEXT_TOO_LONG` */
  synthesis(caller: Caller, request: SynthesisRequest, delivery: Delivery): Promise<SynthesisConversation>;
  /** `path` is a file of any container that stays in place until the transcript has settled. */
  transcription(caller: Caller, path: string, wishes: FileWishes): TranscriptionConversation;
  /**
   * Refuses a caller who could not begin any work of this kind, before an upload or a socket is taken.
   * @throws {ServiceError} `OUT_OF_CREDITS`, `AUTH_UNAVAILABLE`
   */
  requireCredit(caller: Caller, kind: UsageKind): Promise<void>;
  live(caller: Caller, options: LiveWishes, sink: LiveSink): LiveConversation;
}
