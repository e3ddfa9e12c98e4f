import { CLOSE } from "../../core/domain/close-codes.js";
import { errorName, isUnpaid, type ServiceError } from "../../core/domain/errors.js";
import { countCodePoints, firstCodePoints } from "../../core/domain/text/code-points.js";
import type { Decision } from "../../core/kernel/actor.js";
import { CLOSE_CODE } from "../../core/protocol/error-status.js";
import type { StreamServerMessage } from "../../core/protocol/stream-messages.js";
import type { ReadableEvent } from "./readable-events.js";

// Limits of a live session; docs/live-protocol.md documents them.

/** Longest session, in audio: 4 hours. */
const MAX_SESSION_SECONDS = 4 * 3_600;
/** A client that sends neither audio nor keepalive for this long is considered gone. */
export const IDLE_SECONDS = 60;
/** Most audio that may wait to be decoded. Longer than the wait for a cold model (`MODEL_WAIT_MS`). */
export const BACKLOG_SECONDS = 60;
/** A session ends at this many unintelligible messages within `BAD_MESSAGES_WITHIN_MS` of the first. */
const MAX_BAD_MESSAGES = 10;
const BAD_MESSAGES_WITHIN_MS = 60_000;

/** Close codes after which the same audio may succeed in another session. */
const OUR_FAULT: ReadonlySet<number> = new Set([CLOSE.internal, CLOSE.noCapacity, CLOSE.goingAway]);

/** Close code and reason of a socket whose session reaches `done`. */
interface Ending {
  readonly code: number;
  readonly reason: string;
}

const DONE: Ending = { code: CLOSE.done, reason: "done" };
const GOING_AWAY: Ending = { code: CLOSE.goingAway, reason: "going away" };

type ShownEvent =
  | Extract<ReadableEvent, { type: "ready" | "final" }>
  | (Extract<ReadableEvent, { type: "partial" }> & { readonly stable: number });

/** Stable text with which the open utterance must begin. */
interface PromisedText {
  readonly utterance: number;
  readonly text: string;
}

/** State of an open session in every phase. */
interface OpenSession {
  readonly acceptedSamples: number;
  /** The decoder has started: from here on accepted audio is charged. */
  readonly isReady: boolean;
  /** Audio has arrived since the last `finalize`. */
  readonly hasUnfinalized: boolean;
  readonly shown: PromisedText | null;
  /** Unintelligible messages since the first of them. */
  readonly bad: { readonly count: number; readonly sinceMs: number };
}

/** `listening` accepts audio; `draining` decodes the rest of it; `settling` waits for the charge. */
export type LiveState =
  | ({ readonly phase: "listening" } & OpenSession)
  | ({ readonly phase: "draining" | "settling"; readonly ending: Ending } & OpenSession)
  | { readonly phase: "stopped"; readonly acceptedSamples: number; readonly isReady: boolean };

export const NEW_SESSION: LiveState = {
  phase: "listening",
  acceptedSamples: 0,
  isReady: false,
  hasUnfinalized: false,
  shown: null,
  bad: { count: 0, sinceMs: Number.NEGATIVE_INFINITY },
};

type OpenState = Exclude<LiveState, { phase: "stopped" }>;

export type LiveMessage =
  /** Audio was written to the ring; `isRefused` when some of it did not fit. */
  | { readonly type: "audio"; readonly sampleCount: number; readonly isRefused: boolean }
  | { readonly type: "event"; readonly event: ReadableEvent }
  /** Audio arrived beyond the session's credits; what they cover is still decoded. */
  | { readonly type: "unfunded"; readonly error: ServiceError }
  | { readonly type: "settled"; readonly credits: number }
  | { readonly type: "finalize" }
  | { readonly type: "close" }
  | { readonly type: "going-away"; readonly deadlineSeconds: number }
  /** `atMs` is monotonic. */
  | { readonly type: "bad-message"; readonly detail: string; readonly atMs: number }
  /** Replaces the decoder's `ready`: the models could not be loaded in time. */
  | { readonly type: "unavailable"; readonly error: ServiceError }
  | { readonly type: "unauthorized"; readonly detail: string }
  | { readonly type: "idle" }
  | { readonly type: "disconnected" };

export type LiveEffect =
  | { readonly type: "send"; readonly message: StreamServerMessage }
  | { readonly type: "send-event"; readonly event: ShownEvent }
  | { readonly type: "finalize" }
  | { readonly type: "send-finalized" }
  | { readonly type: "finish" }
  | { readonly type: "settle" }
  | { readonly type: "release" }
  | { readonly type: "close-socket"; readonly code: number; readonly reason: string };

const NO_EFFECTS: readonly LiveEffect[] = [];
const FINALIZED: readonly LiveEffect[] = [{ type: "send-finalized" }];

/** Pure: decides a live session's answer to a message. */
export function decideLive(
  state: LiveState,
  message: LiveMessage,
  sampleRateHz: number,
): Decision<LiveState, LiveEffect> {
  if (state.phase === "stopped") return { state, effects: [] };
  switch (message.type) {
    case "audio":
      return onAudio(state, message, sampleRateHz);
    case "event":
      return onEvent(state, message.event);
    case "unfunded":
      return onUnfunded(state, message.error);
    case "settled":
      return onSettled(state, message.credits, sampleRateHz);
    case "finalize":
      return onFinalize(state);
    case "close":
      return drain(state, DONE, []);
    case "going-away": {
      const notice = { type: "going_away", deadline_s: message.deadlineSeconds } as const;
      return drain(state, GOING_AWAY, [{ type: "send", message: notice }]);
    }
    case "bad-message":
      return onBadMessage(state, message);
    case "unauthorized":
      // Only the charge is outstanding, so there is nothing left to reject.
      if (state.phase === "settling") return { state, effects: NO_EFFECTS };
      return stopWith(state, CLOSE.unauthorized, "unauthorized", message.detail);
    case "idle":
      return stopWith(state, CLOSE.idle, "idle", `no audio and no keepalive for ${IDLE_SECONDS} s`);
    case "unavailable": {
      const { code, message: detail } = message.error;
      const closeCode = code === "SHUTTING_DOWN" ? CLOSE.goingAway : CLOSE.noCapacity;
      return stopWith(state, closeCode, errorName(code), detail);
    }
    case "disconnected":
      return { state: stopped(state), effects: [{ type: "release" }] };
  }
}

/** Samples to charge: none if the model was not ready before the session ended. */
export function billedSamples({ isReady, acceptedSamples }: LiveState): number {
  return isReady ? acceptedSamples : 0;
}

function onAudio(
  state: LiveState,
  message: Extract<LiveMessage, { type: "audio" }>,
  sampleRateHz: number,
): Decision<LiveState, LiveEffect> {
  if (state.phase !== "listening") return { state, effects: NO_EFFECTS };
  const acceptedSamples = state.acceptedSamples + message.sampleCount;
  // Audio and partials make up most messages, and listing members is many times cheaper than a spread.
  const { isReady, shown, bad } = state;
  const next: OpenState = {
    phase: "listening",
    acceptedSamples,
    isReady,
    hasUnfinalized: true,
    shown,
    bad,
  };
  if (message.isRefused) {
    const rule = `more than ${BACKLOG_SECONDS} s of audio wait to be processed`;
    return stopWith(next, CLOSE.badRequest, "too_fast", rule);
  }
  if (acceptedSamples > MAX_SESSION_SECONDS * sampleRateHz) {
    return stopWith(next, CLOSE.tooLong, "session_too_long", "a session holds at most 4 hours of audio");
  }
  return { state: next, effects: NO_EFFECTS };
}

/** Ignored without new audio, so that clients cannot queue marks faster than audio. */
function onFinalize(state: OpenState): Decision<LiveState, LiveEffect> {
  if (state.phase !== "listening" || !state.hasUnfinalized) return { state, effects: NO_EFFECTS };
  return { state: { ...state, hasUnfinalized: false }, effects: [{ type: "finalize" }] };
}

function onBadMessage(
  state: OpenState,
  { detail, atMs }: Extract<LiveMessage, { type: "bad-message" }>,
): Decision<LiveState, LiveEffect> {
  const isRecent = atMs - state.bad.sinceMs <= BAD_MESSAGES_WITHIN_MS;
  const bad = isRecent ? { ...state.bad, count: state.bad.count + 1 } : { count: 1, sinceMs: atMs };
  const answer = errorMessage("bad_message", detail, false);
  if (bad.count < MAX_BAD_MESSAGES) return { state: { ...state, bad }, effects: [answer] };
  const rule = `${MAX_BAD_MESSAGES} messages within a minute could not be understood`;
  const ending = stopWith(state, CLOSE.badRequest, "too_many_messages", rule);
  return { state: ending.state, effects: [answer, ...ending.effects] };
}

function onEvent(state: OpenState, event: ReadableEvent): Decision<LiveState, LiveEffect> {
  switch (event.type) {
    case "ready":
    case "final":
      return {
        state: state.isReady ? state : { ...state, isReady: true },
        effects: [{ type: "send-event", event }],
      };
    case "partial":
      return onPartial(state, event);
    case "finalized":
      return { state, effects: FINALIZED };
    case "failed":
      return stopWith(state, CLOSE.internal, "internal", event.message);
    case "finished": {
      if (state.phase === "settling") return { state, effects: [] };
      const ending = state.phase === "draining" ? state.ending : DONE;
      return {
        state: { ...state, phase: "settling", ending },
        effects: [{ type: "settle" }],
      };
    }
  }
}

/**
 * Sends a partial unless it would break a promise; promises hold when the worker changes.
 *
 * The greedy hypothesis of a causal encoder only grows, so all of its text is promised. Models that read an
 * utterance repeatedly promise the part on which their hypotheses agree. After a lost worker the audio is
 * decoded again with less left context and a letter may change: the client then keeps what it has until the
 * text continues from there, or the final arrives.
 */
function onPartial(
  state: OpenState,
  event: Extract<ReadableEvent, { type: "partial" }>,
): Decision<LiveState, LiveEffect> {
  const { utterance, text, startSample, endSample } = event;
  const before = state.shown?.utterance === utterance ? state.shown.text : "";
  if (!text.startsWith(before)) return { state, effects: NO_EFFECTS };
  const agreed = event.stable === undefined ? text : firstCodePoints(text, event.stable);
  // Another worker may have a shorter agreed text.
  const shown = { utterance, text: agreed.length >= before.length ? agreed : before };
  const stable = countCodePoints(shown.text);
  const { endOfTurn } = event;
  const partial = { type: "partial", utterance, text, stable, startSample, endSample } as const;
  const shownEvent = endOfTurn === undefined ? partial : { ...partial, endOfTurn };
  const effects: readonly LiveEffect[] = [{ type: "send-event", event: shownEvent }];
  if (state.phase !== "listening") return { state: { ...state, isReady: true, shown }, effects };
  const { phase, acceptedSamples, hasUnfinalized, bad } = state;
  return { state: { phase, acceptedSamples, isReady: true, hasUnfinalized, shown, bad }, effects };
}

function onUnfunded(state: OpenState, error: ServiceError): Decision<LiveState, LiveEffect> {
  if (state.phase !== "listening") return { state, effects: [] };
  const reason = errorName(error.code);
  const notice = errorMessage(reason, error.message, !isUnpaid(error.code));
  return drain(state, { code: CLOSE_CODE[error.code], reason }, [notice]);
}

function onSettled(state: LiveState, credits: number, sampleRateHz: number): Decision<LiveState, LiveEffect> {
  if (state.phase !== "settling") return { state, effects: [] };
  const { acceptedSamples, ending } = state;
  const done = {
    type: "done",
    audio_seconds: acceptedSamples / sampleRateHz,
    credits_charged: credits,
  } as const;
  return {
    state: stopped(state),
    effects: [{ type: "send", message: done }, { type: "close-socket", ...ending }, { type: "release" }],
  };
}

function drain(
  state: OpenState,
  ending: Ending,
  notices: readonly LiveEffect[],
): Decision<LiveState, LiveEffect> {
  if (state.phase === "draining" || state.phase === "settling") return { state, effects: notices };
  return {
    state: { ...state, phase: "draining", ending },
    effects: [...notices, { type: "finish" }],
  };
}

function stopWith(
  state: LiveState,
  closeCode: number,
  code: string,
  detail: string,
): Decision<LiveState, LiveEffect> {
  return {
    state: stopped(state),
    effects: [
      errorMessage(code, detail, OUR_FAULT.has(closeCode)),
      { type: "close-socket", code: closeCode, reason: code },
      { type: "release" },
    ],
  };
}

function stopped({ acceptedSamples, isReady }: LiveState): LiveState {
  return { phase: "stopped", acceptedSamples, isReady };
}

function errorMessage(code: string, detail: string, retryable: boolean): LiveEffect {
  return { type: "send", message: { type: "error", code, detail, retryable } };
}
