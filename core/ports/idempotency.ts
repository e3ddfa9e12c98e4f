import type { UsageKind } from "../domain/usage/tariff.js";
import type { Headers } from "./front.js";

/** Lifetime of a key and its answer, from the start of the answered request. */
export const KEPT_FOR_MS = 24 * 3_600_000;

/** Charges of earlier attempts at the same request: a client that repeats it pays only the rest. */
export interface Paid {
  /** Request id of the charge. */
  readonly requestId: string;
  /** Characters of synthesis, samples of a file. */
  readonly units: number;
  readonly credits: number;
  /** SHA-256 of the paid audio, if it is not in the fingerprint. */
  readonly audioSha256?: Uint8Array | null;
  /** The paid audio was not recorded, so the present audio's price above the paid one is charged. */
  readonly isAudioUnknown?: boolean;
}

/** A request with an idempotency key. */
export interface KeyedRequest {
  readonly organizationId: string;
  readonly key: string;
  /** 32 bytes over everything that affects the answer. */
  readonly fingerprint: Uint8Array;
  readonly kind: Exclude<UsageKind, "live">;
  /** Id of this attempt, and of its hold. */
  readonly requestId: string;
  /** The request whose kept answer was lost, so the work must be repeated. */
  readonly lostAnswerOf?: string;
}

/** A charged and complete answer. */
export interface KeptAnswer {
  /** The request that produced it. */
  readonly requestId: string;
  /** The request that was charged for it. */
  readonly chargedRequestId: string;
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: number;
  /** Null for a long body, which is on the disk of the service that made it. */
  readonly body: Uint8Array | null;
}

/** An attempt that owns the key until `answered` or `over`. */
export interface Attempt {
  /** Must be called once the answer is charged and complete. False when it could not be kept. */
  answered(answer: Pick<KeptAnswer, "status" | "headers" | "bytes" | "body">): Promise<boolean>;
  /**
   * Records the attempt's audio before it costs anything: only the same audio may be transcribed again for
   * free.
   * @throws {ServiceError} `AUTH_UNAVAILABLE`
   */
  hears(audioSha256: Uint8Array): Promise<void>;
  /**
   * Releases the key unless the request was answered; retries later while the store is unreachable. Never
   * fails.
   */
  over(): Promise<void>;
}

export type Claim =
  /** The work must be done; `paid` is its earlier charge. */
  | { readonly type: "begun"; readonly attempt: Attempt; readonly paid: Paid | null }
  /** An attempt with this key is running, or its charge is not settled yet. */
  | { readonly type: "in-use" }
  /** The key belongs to another request. */
  | { readonly type: "reused" }
  | { readonly type: "answered"; readonly answer: KeptAnswer };

/** Idempotency keys, per organization. */
export interface Idempotency {
  /**
   * Claims a key for an attempt. Of several simultaneous attempts, across any number of services, only one
   * may start.
   * @throws {ServiceError} `AUTH_UNAVAILABLE`
   */
  claim(request: KeyedRequest): Promise<Claim>;
  /** Returns whether the key has been used. @throws {ServiceError} `AUTH_UNAVAILABLE` */
  isKnown(organizationId: string, key: string): Promise<boolean>;
}
