import { CLOSE } from "../../core/domain/close-codes.js";
import { type PromisedText, stablePartial } from "../../core/domain/decoding/stable-prefix.js";
import { errorName, type ServiceError } from "../../core/domain/errors.js";
import type { Decision } from "../../core/kernel/actor.js";
import type { LiveEvent } from "../../core/ports/live-decoder.js";
import { CLOSE_CODE } from "../../core/protocol/error-status.js";
import type { StreamServerMessage } from "../../core/protocol/stream-messages.js";
import {
  BACKLOG_SECONDS,
  BAD_MESSAGES_WITHIN_MS,
  IDLE_SECONDS,
  MAX_SESSION_SECONDS,
  MOST_BAD_MESSAGES,
} from "./limits.js";

/** Endings after which the same session may succeed. */
const OUR_FAULT: ReadonlySet<number> = new Set([CLOSE.internal, CLOSE.noCapacity, CLOSE.goingAway]);

/** How the socket of a session is closed that comes to its `done`. */
interface Ending {
  readonly code: number;
  readonly reason: string;
}

const DONE: Ending = { code: CLOSE.done, reason: "done" };
const GOING_AWAY: Ending = { code: CLOSE.goingAway, reason: "going away" };

type ShownEvent =
  | Extract<LiveEvent, { type: "ready" | "final" }>
  | (Extract<LiveEvent, { type: "partial" }> & { readonly stable: number });

/** Messages that could not be understood, since the first of them. */
interface BadMessages {
  readonly count: number;
  readonly sinceMs: number;
}

/** What an open session knows, whatever its phase. */
interface OpenSession {
  readonly acceptedSamples: number;
  /** The decoder has begun: from here on accepted audio is charged. */
  readonly isReady: boolean;
  /** Audio came after the last wish to end an utterance. */
  readonly hasUnfinalized: boolean;
  /** What its client was promised of the open utterance. */
  readonly shown: PromisedText | null;
  readonly bad: BadMessages;
}

/** `listening` takes audio; `draining` decodes what it has; `settling` waits for its charge; `stopped` is over. */
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
  | { readonly type: "event"; readonly event: LiveEvent }
  /** Audio came that nothing pays for; what was paid for is still decoded. */
  | { readonly type: "unfunded"; readonly error: ServiceError }
  | { readonly type: "settled"; readonly credits: number }
  | { readonly type: "finalize" }
  | { readonly type: "close" }
  | { readonly type: "going-away"; readonly deadlineSeconds: number }
  /** At a time of the monotonic clock. */
  | { readonly type: "bad-message"; readonly detail: string; readonly atMs: number }
  /** Instead of the decoder's `ready`: the models could not be loaded in time. */
  | { readonly type: "unavailable"; readonly error: ServiceError }
  | { readonly type: "unauthorized"; readonly detail: string }
  | { readonly type: "idle" }
  | { readonly type: "disconnected" };

export type LiveEffect =
  | { readonly type: "send"; readonly message: StreamServerMessage }
  | { readonly type: "send-event"; readonly event: ShownEvent }
  | { readonly type: "finalize" }
  | { readonly type: "finish" }
  | { readonly type: "settle" }
  | { readonly type: "release" }
  | { readonly type: "close-socket"; readonly code: number; readonly reason: string };

const NO_EFFECTS: readonly LiveEffect[] = [];

/** Pure: what a live session does about a message. */
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
      // A session that only waits for its charge has nothing left to give away.
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

/** Audio that waited for a model which never came, or not while the client was there, is not charged. */
export function billedSamples({ isReady, acceptedSamples }: LiveState): number {
  return isReady ? acceptedSamples : 0;
}

function onAudio(
  state: LiveState,
  message: Extract<LiveMessage, { type: "audio" }>,
  sampleRateHz: number,
): Decision<LiveState, LiveEffect> {
  // Audio that comes after `close` is late: it was never accepted.
  if (state.phase !== "listening") return { state, effects: NO_EFFECTS };
  const acceptedSamples = state.acceptedSamples + message.sampleCount;
  // Members one by one here and for partials, most of all messages: a spread costs many times as much.
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

/** Without more audio there is nothing more to end: clients cannot pile up marks faster than audio. */
function onFinalize(state: OpenState): Decision<LiveState, LiveEffect> {
  if (state.phase !== "listening" || !state.hasUnfinalized) return { state, effects: NO_EFFECTS };
  return { state: { ...state, hasUnfinalized: false }, effects: [{ type: "finalize" }] };
}

/** No program sends so many by mistake and goes on. */
function onBadMessage(
  state: OpenState,
  { detail, atMs }: Extract<LiveMessage, { type: "bad-message" }>,
): Decision<LiveState, LiveEffect> {
  const isOfOld = atMs - state.bad.sinceMs <= BAD_MESSAGES_WITHIN_MS;
  const bad = isOfOld ? { ...state.bad, count: state.bad.count + 1 } : { count: 1, sinceMs: atMs };
  const answer = errorMessage("bad_message", detail, false);
  if (bad.count < MOST_BAD_MESSAGES) return { state: { ...state, bad }, effects: [answer] };
  const rule = `${MOST_BAD_MESSAGES} messages within a minute could not be understood`;
  const ending = stopWith(state, CLOSE.badRequest, "too_many_messages", rule);
  return { state: ending.state, effects: [answer, ...ending.effects] };
}

function onEvent(state: OpenState, event: LiveEvent): Decision<LiveState, LiveEffect> {
  switch (event.type) {
    case "ready":
    case "final":
      return {
        state: state.isReady ? state : { ...state, isReady: true },
        effects: [{ type: "send-event", event }],
      };
    case "partial":
      return onPartial(state, event);
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

/** What was promised to the client holds, whichever worker the text comes from. */
function onPartial(
  state: OpenState,
  event: Extract<LiveEvent, { type: "partial" }>,
): Decision<LiveState, LiveEffect> {
  const partial = stablePartial(state.shown, event);
  if (partial === null) return { state, effects: NO_EFFECTS };
  const { utterance, text, stable, promised } = partial;
  const { startSample, endSample } = event;
  const shown = { utterance, text: promised };
  const shownEvent = { type: "partial", utterance, text, stable, startSample, endSample } as const;
  const effects: readonly LiveEffect[] = [{ type: "send-event", event: shownEvent }];
  if (state.phase !== "listening") return { state: { ...state, isReady: true, shown }, effects };
  const { phase, acceptedSamples, hasUnfinalized, bad } = state;
  return { state: { phase, acceptedSamples, isReady: true, hasUnfinalized, shown, bad }, effects };
}

function onUnfunded(state: OpenState, error: ServiceError): Decision<LiveState, LiveEffect> {
  if (state.phase !== "listening") return { state, effects: [] };
  const reason = errorName(error.code);
  const notice = errorMessage(reason, error.message, error.code !== "OUT_OF_CREDITS");
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
