import type { UsageKind } from "../domain/usage/tariff.js";
import type { Headers } from "./front.js";

/** How long a key and its answer are kept, from the beginning of the request that was answered. */
export const KEPT_FOR_MS = 24 * 3_600_000;

/** What earlier attempts at the same request were charged: a client that repeats it pays the rest only. */
export interface Paid {
  /** The id that the charge is under. */
  readonly requestId: string;
  /** Characters of synthesis, samples of a file. */
  readonly units: number;
  readonly credits: number;
  /** SHA-256 of the audio that was paid for, where the fingerprint does not know it. */
  readonly audioSha256?: Uint8Array | null;
  /** Nobody noted which audio was paid for: what the audio of today costs beyond that is to be paid. */
  readonly isAudioUnknown?: boolean;
}

/** A request that came with an idempotency key. */
export interface KeyedRequest {
  readonly organizationId: string;
  readonly key: string;
  /** 32 bytes over everything that decides about the answer. */
  readonly fingerprint: Uint8Array;
  readonly kind: Exclude<UsageKind, "live">;
  /** Id of this attempt, and of the hold it will open. */
  readonly requestId: string;
  /** The request whose kept answer was found to be gone: the work has to be done again. */
  readonly lostAnswerOf?: string;
}

/** An answer that was charged and complete. */
export interface KeptAnswer {
  /** The request that made it. */
  readonly requestId: string;
  /** The request that was charged for it. */
  readonly chargedRequestId: string;
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: number;
  /** Null for a long body, which lies on the disk of the service that made it. */
  readonly body: Uint8Array | null;
}

/** An attempt that has the key for itself until one of these is called. */
export interface Attempt {
  /** To be called once the answer is charged and known to its end. False when it could not be kept. */
  answered(answer: Pick<KeptAnswer, "status" | "headers" | "bytes" | "body">): Promise<boolean>;
  /**
   * Notes which audio the attempt hears, before it costs anything: only the same may be heard again for nothing.
   * @throws {ServiceError} `AUTH_UNAVAILABLE`
   */
  hears(audioSha256: Uint8Array): Promise<void>;
  /** Gives the key back unless it was answered; written down later when the store is away. Never fails. */
  over(): Promise<void>;
}

export type Claim =
  /** The work is to be done; `paid` is what has been charged for it already. */
  | { readonly type: "begun"; readonly attempt: Attempt; readonly paid: Paid | null }
  /** An attempt with this key goes on, or it is not settled yet what it costs. */
  | { readonly type: "in-use" }
  /** The key belongs to another request. */
  | { readonly type: "reused" }
  | { readonly type: "answered"; readonly answer: KeptAnswer };

/** Keys of clients, per organization, that make a request happen once however often it is sent. */
export interface Idempotency {
  /**
   * Takes a key for an attempt, or says why not. Of attempts at once, on any number of services, one begins.
   * @throws {ServiceError} `AUTH_UNAVAILABLE`
   */
  claim(request: KeyedRequest): Promise<Claim>;
  /**
   * Whether something was asked under this key before.
   * @throws {ServiceError} `AUTH_UNAVAILABLE`
   */
  isKnown(organizationId: string, key: string): Promise<boolean>;
}
