import type { ServiceError } from "../../core/domain/errors.js";
import type { StreamServerMessage } from "../../core/protocol/stream-messages.js";
import type { ReadableEvent } from "./readable-events.js";

/** Close code and reason of the socket of a session that reaches `done`. */
export interface Ending {
  readonly code: number;
  readonly reason: string;
}

/** Stable text that the open utterance must start with. */
interface PromisedText {
  readonly utterance: number;
  readonly text: string;
}

/** State shared by all phases of an open session. */
interface OpenSession {
  readonly acceptedSamples: number;
  /** True once the decoder has started: from then on, accepted audio is charged. */
  readonly isReady: boolean;
  /** Audio has arrived since the last `finalize`. */
  readonly hasUnfinalized: boolean;
  readonly shown: PromisedText | null;
  /** Number of unintelligible messages, and the time of the first one. */
  readonly bad: { readonly count: number; readonly sinceMs: number };
}

/** `listening` accepts audio; `draining` decodes the rest of it; `settling` waits for the charge. */
export type LiveState =
  | ({ readonly phase: "listening" } & OpenSession)
  | ({ readonly phase: "draining"; readonly ending: Ending } & OpenSession)
  | ({ readonly phase: "settling"; readonly ending: Ending } & OpenSession)
  | { readonly phase: "stopped"; readonly acceptedSamples: number; readonly isReady: boolean };

export type LivePhase = LiveState["phase"];
export type StateIn<P extends LivePhase> = Extract<LiveState, { readonly phase: P }>;
export type OpenState = StateIn<"listening" | "draining" | "settling">;

/** Numbers of the states in STATES.md. A session only moves to a higher phase (I2). */
export const STATE_NUMBERS = {
  listening: "S1",
  draining: "S2",
  settling: "S3",
  stopped: "S4",
} as const satisfies Record<LivePhase, string>;

export const NEW_SESSION: LiveState = {
  phase: "listening",
  acceptedSamples: 0,
  isReady: false,
  hasUnfinalized: false,
  shown: null,
  bad: { count: 0, sinceMs: Number.NEGATIVE_INFINITY },
};

/** Events caused by the client, the meter and the service. */
type OwnEvent =
  /** Audio was written to the ring; `isRefused` if some of it did not fit. */
  | { readonly type: "audio"; readonly sampleCount: number; readonly isRefused: boolean }
  /** Audio exceeded the session's credits. The part that they cover is still decoded. */
  | { readonly type: "unfunded"; readonly error: ServiceError }
  | { readonly type: "settled"; readonly credits: number }
  | { readonly type: "finalize" }
  | { readonly type: "close" }
  | { readonly type: "going-away"; readonly deadlineSeconds: number }
  /** `atMs` is from a monotonic clock. */
  | { readonly type: "bad-message"; readonly detail: string; readonly atMs: number }
  /** Arrives instead of the decoder's `ready`: the models could not be loaded in time. */
  | { readonly type: "unavailable"; readonly error: ServiceError }
  | { readonly type: "unauthorized"; readonly detail: string }
  | { readonly type: "idle" }
  | { readonly type: "disconnected" };

/** A message in the session's mailbox. */
export type LiveMessage = OwnEvent | { readonly type: "event"; readonly event: ReadableEvent };

/** Everything that can happen to a session: its own events and its decoder's. */
export type SessionEvent = OwnEvent | ReadableEvent;
export type SessionEventName = SessionEvent["type"];
export type EventNamed<N extends SessionEventName> = Extract<SessionEvent, { readonly type: N }>;

/** Numbers of the events in STATES.md. */
export const EVENT_NUMBERS = {
  audio: "E1",
  finalize: "E2",
  close: "E3",
  "bad-message": "E4",
  idle: "E5",
  disconnected: "E6",
  ready: "E7",
  partial: "E8",
  final: "E9",
  finalized: "E10",
  finished: "E11",
  failed: "E12",
  unavailable: "E13",
  unfunded: "E14",
  settled: "E15",
  unauthorized: "E16",
  "going-away": "E17",
} as const satisfies Record<SessionEventName, string>;

type ShownEvent =
  | Extract<ReadableEvent, { type: "ready" | "final" }>
  | (Extract<ReadableEvent, { type: "partial" }> & { readonly stable: number });

export type LiveEffect =
  | { readonly type: "send"; readonly message: StreamServerMessage }
  | { readonly type: "send-event"; readonly event: ShownEvent }
  | { readonly type: "finalize" }
  | { readonly type: "send-finalized" }
  | { readonly type: "finish" }
  | { readonly type: "settle" }
  | { readonly type: "release" }
  | { readonly type: "close-socket"; readonly code: number; readonly reason: string };

/** Samples to charge: none if the session ended before the model was ready (I6). */
export function billedSamples({ isReady, acceptedSamples }: LiveState): number {
  return isReady ? acceptedSamples : 0;
}
