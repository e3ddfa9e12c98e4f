import type { ChannelHandling } from "../domain/audio/channels.js";
import type { Catalog } from "../domain/catalog/catalog.js";
import type { HotWord } from "../domain/decoding/hot-words.js";
import type { BilledTranscript, TranscribedSegment } from "../domain/decoding/transcript.js";
import type { SpeakerWishes } from "../domain/diarization/speaker-turns.js";
import type { ServiceError } from "../domain/errors.js";
import type { SaidWord } from "../domain/synthesis/word-times.js";
import type { ReadingOptions } from "../domain/text/display/reading.js";
import type { DictionaryEntry } from "../domain/text/kazakh/dictionary.js";
import type { UsageKind } from "../domain/usage/tariff.js";
import type { Vocabulary } from "../domain/vocabulary.js";
import type { OrganizationDefaults } from "../protocol/organization-defaults.js";
import type { StreamOptions, StreamServerMessage } from "../protocol/stream-messages.js";
import type { SynthesisRequest } from "../protocol/synthesis-request.js";
import type { Departure } from "./front.js";
import type { Paid } from "./idempotency.js";
import type { KeyIdentity } from "./key-store.js";
import type { Span } from "./span.js";

/** Reason for ending a conversation from outside. */
export type StopReason = "client-left" | "service-stops";

/** The identity of a request's caller, and the request's context. */
export interface Caller {
  readonly requestId: string;
  readonly identity: KeyIdentity;
  /** Path of the endpoint. */
  readonly endpoint: string;
  /** Concurrency limit of the organization for this kind of work, over all services. */
  readonly mostAtOnce?: number;
  /** Words that the organization stored; none when absent. */
  readonly vocabulary?: Vocabulary;
  /** Earlier charges for the same work, under an idempotency key. */
  readonly paid?: Paid;
  /** Span of the whole request; not traced when absent. */
  readonly span?: Span;
  /** Called with the milliseconds of each wait for the model. */
  readonly onModelWait?: (waitedMs: number) => void;
}

/** How audio is sent to the client: as it is synthesized, sentence by sentence, or as a whole. */
export type Delivery = "chunks" | "sentences" | "whole";

/** Samples of a synthesis, mono, 16-bit; may be empty at the end of a sentence. */
export interface SpeechChunk {
  readonly pcm: Int16Array;
  readonly sampleRateHz: number;
  readonly endsSentence: boolean;
  /**
   * Words of the sentence, in order, each once: those that start in these samples if the model knows them in
   * time, the rest at the end of the sentence. Samples count from the start of the sentence.
   */
  readonly words?: readonly SaidWord[] | undefined;
}

/** A synthesis in progress. */
export interface SynthesisConversation {
  readonly modelId: string;
  /** Unicode code points of the submitted text. */
  readonly billedCharacters: number;
  /** Cost of the work, once it is charged. */
  readonly creditsCharged: number;
  readonly sampleRateHz: number;
  /** Upper bound on the bytes of samples held in memory, even for a slow reader. */
  readonly mostHeldBytes: number;
  /**
   * Returns audio in order as it is synthesized, at most two sentences and a minute of speech ahead of the
   * reader. A reader that requests a chunk must have sent the previous one. Throws `ServiceError`.
   */
  chunks(): AsyncIterable<SpeechChunk>;
  /** Must be called right before the first byte is queued. Throws `ServiceError` if it must not be sent. */
  charge(): Promise<void>;
  /** Departure of the last bytes of each sentence of a stream. */
  readonly sentence: Departure;
  /** Departure of the last bytes of an answer that is sent as a whole. */
  readonly answer: Departure;
  /** Must be called when the last byte has been sent, in the same turn of the event loop. */
  complete(): void;
  /** Ends the work within one solver step; may be called twice, and after the end. */
  stop(reason: StopReason): void;
}

/** A file transcription in progress. */
export interface TranscriptionConversation {
  /** Charged when it resolves, so the answer must be sent immediately. */
  readonly transcript: Promise<BilledTranscript>;
  /**
   * Charges the whole file, for a response that starts before the transcript is complete. May be called more
   * than once.
   * @throws {ServiceError} `CANCELLED`, `AUTH_UNAVAILABLE`
   */
  charge(): Promise<void>;
  /** Departure of the last bytes of the answer. */
  readonly answer: Departure;
  /** Must be called when the last byte of the answer has been sent, in the same turn of the event loop. */
  complete(): void;
  stop(reason: StopReason): void;
}

/** Receives a live session's messages. */
export interface LiveSink {
  send(message: StreamServerMessage): void;
  /**
   * All finals of the audio before a `finalize()` were sent; called once per `finalize()` that had new audio.
   */
  finalized?(): void;
  /** Closes the socket after all messages. */
  close(code: number, reason: string): void;
}

/** A live session as the socket sees it. */
export interface LiveConversation {
  /** PCM16LE bytes in any chunking; copied before return. */
  audio(bytes: Uint8Array): void;
  finalize(): void;
  /** Decodes the remaining audio, settles, sends `done` and closes with 1000. */
  close(): void;
  keepalive(): void;
  /** Reports text that is not JSON: `error bad_message`. */
  badMessage(detail: string): void;
  disconnected(): void;
  /** Sends `going_away` because the service stops, finishes within the deadline, and closes with 1012. */
  goingAway(deadlineSeconds: number): void;
  /** Sends `error unauthorized` for a key that expired or was revoked, settles, and closes with 4401. */
  unauthorized(detail: string): void;
}

/** Options of a live session. */
export interface LiveWishes extends StreamOptions {
  /** Model id. */
  readonly model: string;
}

/** Options of a file transcription. */
export interface FileWishes extends OrganizationDefaults {
  /** Model id. */
  readonly model: string;
  readonly hotWords: readonly HotWord[];
  /** Absent or null for the plain transcript. */
  readonly reading?: ReadingOptions | null;
  /** Requests speaker labels; not available with split channels. */
  readonly speakers?: SpeakerWishes | undefined;
  /** `mix` by default. With `split` there are no `onSegments`, because turns are ordered at the end. */
  readonly channels?: ChannelHandling;
  /** Nobody waits for the transcript, so files of requests run first. */
  readonly isLater?: boolean;
  /** Called with the finished share, 0 to 1, once the credits are held. */
  readonly onProgress?: (share: number) => void;
  /**
   * Called with the transcript's segments in order, as they become known; call `charge` before sending them.
   */
  readonly onSegments?: (segments: readonly TranscribedSegment[]) => void;
}

/** Messages of a speaking session, independent of the wire format. */
export type SpeakMessageOut =
  /**
   * All speech of the text before a flush was sent; `sequence` counts these and `cleared` from 0, `turn` is
   * that of the text.
   */
  | { readonly type: "flushed"; readonly sequence: number; readonly turn: number }
  /** No speech of this turn or an earlier one follows. */
  | { readonly type: "cleared"; readonly sequence: number; readonly turn: number }
  /** The client or the service has ended the session, and all flushed text was spoken. */
  | { readonly type: "done" }
  | {
      readonly type: "warning";
      readonly code: string;
      readonly detail: string;
      /** The sentence that was skipped: its turn, and its end in characters of the turn. */
      readonly skipped?: { readonly turn: number; readonly to: number };
    }
  | Extract<StreamServerMessage, { readonly type: "error" }>;

/** Receives a speaking session's audio and messages, in order. */
export interface SpeakSink {
  send(message: SpeakMessageOut, receipt: SpeakReceipt): void;
  /** Samples of a sentence, mono, at the model's rate; the last call may pass none. */
  sound(pcm: Int16Array, isLast: boolean, place: SpokenPlace): void;
  /** Resolves when the client has read enough for more to be sent. */
  ready(): Promise<void>;
  /** Closes the socket after all messages. */
  close(code: number, reason: string): void;
}

/** Audio that a speaking session has sent, and its price. */
export interface SentSpeech {
  /** Samples at the model's rate. */
  readonly samples: number;
  /** Code points of the billed text. */
  readonly characters: number;
  readonly credits: number;
}

/** Bill of a speaking session so far. */
export interface SpeakReceipt {
  /** The turn that was charged last. */
  readonly turn: SentSpeech;
  /** Sum of all turns charged. */
  readonly session: SentSpeech;
}

/** The sentence that samples belong to. */
export interface SpokenPlace {
  /** Flushes and clears before the sentence's text. */
  readonly turn: number;
  /** Counts the sentences of a session from 0. */
  readonly sentence: number;
  readonly text: string;
  /** Code points of the turn's text before the sentence. */
  readonly from: number;
  /** See `SpeechChunk.words`. */
  readonly words: readonly SaidWord[];
}

/** A session that speaks text as it arrives in pieces. */
export interface SpeakConversation {
  /** Sets how words sound, in sentences that have not begun. */
  pronounce(pronunciations: SynthesisRequest["pronunciations"]): void;
  /** Adds a piece of text; each sentence is spoken as soon as it is complete. */
  speak(text: string): void;
  /** Speaks the rest; `flushed` follows its last audio. */
  flush(): void;
  /** Drops text and audio that were not sent; `cleared` follows. */
  clear(): void;
  /** Speaks flushed text, drops the rest, and closes with 1000. */
  close(): void;
  keepalive(): void;
  /** Reports an unintelligible message: `warning bad_message`. */
  badMessage(detail: string): void;
  /** Ends the session with an error of the client. */
  refuse(error: ServiceError): void;
  disconnected(): void;
  /** Speaks flushed text because the service stops, and closes with 1012. */
  goingAway(): void;
  /** Sends `error unauthorized` for a key that expired or was revoked, and closes with 4401. */
  unauthorized(detail: string): void;
}

/** A request for speech, with pronunciations that its organization stored. */
export type SpeechWishes = SynthesisRequest & {
  /** Added to the request's own within the limits of one request; none when absent. */
  readonly storedPronunciations?: readonly DictionaryEntry[];
};

/** Options of a speaking session: those of a synthesis, without the text. */
export type SpeakWishes = Omit<SpeechWishes, "text"> & {
  /** Speaks the first clause of a turn before its sentence is complete; false by default. */
  readonly startsEarly?: boolean;
};

/** All work that clients can start; assembled in `src/service/conversations.ts`. */
export interface Conversations {
  readonly catalog: Catalog;
  /** @throws {ServiceError} `UNKNOWN_MODEL`, `UNKNOWN_VOICE`, `NOTHING_TO_SAY`, `TEXT_TOO_LONG` */
  synthesis(caller: Caller, request: SpeechWishes, delivery: Delivery): Promise<SynthesisConversation>;
  /** @param path a file of any container, which must stay until the transcript has settled */
  transcription(caller: Caller, path: string, wishes: FileWishes): TranscriptionConversation;
  /**
   * Makes jobs free a worker now, because a file of a request is being received; for a short time at most.
   * @returns a function to call when the request is over; after one that failed, files are not expected for a
   *   while
   */
  expectFile(): (isTranscribed: boolean) => void;
  /**
   * Rejects a caller without credits for any work of this kind, before an upload or a socket is accepted.
   * @throws {ServiceError} `OUT_OF_CREDITS`, `AUTH_UNAVAILABLE`
   */
  requireCredit(caller: Caller, kind: UsageKind): Promise<void>;
  live(caller: Caller, options: LiveWishes, sink: LiveSink): LiveConversation;
  /** @throws {ServiceError} `UNKNOWN_MODEL` */
  speaking(caller: Caller, wishes: SpeakWishes, sink: SpeakSink): SpeakConversation;
}
