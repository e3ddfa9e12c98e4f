import {
  type ShownPartial,
  type StablePartial,
  stablePartial,
} from "../../src/domain/decoding/stable-prefix.js";
import type { ErrorCode, ServiceError } from "../../src/domain/errors.js";
import type { LiveEvent } from "../../src/ports/live-decoder.js";
import type { StreamServerMessage } from "../../src/protocol/stream-messages.js";
import type { Decision } from "../kernel/actor.js";

/** The longest session: 4 hours of audio. */
const MAX_SESSION_SECONDS = 4 * 3_600;

/** So many messages that cannot be understood, within a minute, end a session. */
export const MOST_BAD_MESSAGES = 10;

/** Close codes of the public protocol. */
export const CLOSE = {
  done: 1000,
  goingAway: 1012,
  internal: 1011,
  noCapacity: 1013,
  badRequest: 4400,
  unauthorized: 4401,
  idle: 4408,
  tooLong: 4413,
  outOfCredits: 4429,
  storeAway: 4503,
} as const;

/** Endings after which the same session may succeed. */
const OUR_FAULT: ReadonlySet<number> = new Set([CLOSE.internal, CLOSE.noCapacity, CLOSE.goingAway]);

/** What is said with the close codes of sessions that came to their `done`. */
const CLOSE_REASON: Readonly<Record<number, string>> = {
  [CLOSE.done]: "done",
  [CLOSE.goingAway]: "going away",
  [CLOSE.outOfCredits]: errorName("OUT_OF_CREDITS"),
  [CLOSE.storeAway]: errorName("AUTH_UNAVAILABLE"),
};

type ShownEvent =
  | Extract<LiveEvent, { type: "ready" | "final" }>
  | (Extract<LiveEvent, { type: "partial" }> & StablePartial);

/** `listening` takes audio; `draining` decodes what it has; `settling` waits for its charge; `stopped` is over. */
export type LiveState =
  | { readonly phase: "listening"; readonly acceptedSamples: number; readonly shown: ShownPartial | null }
  | {
      readonly phase: "draining" | "settling";
      readonly acceptedSamples: number;
      readonly closeCode: number;
      readonly shown: ShownPartial | null;
    }
  | { readonly phase: "stopped"; readonly acceptedSamples: number };

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
  | { readonly type: "bad-message"; readonly detail: string; readonly isOneTooMany: boolean }
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
      return { state, effects: state.phase === "listening" ? [{ type: "finalize" }] : [] };
    case "close":
      return drain(state, CLOSE.done, []);
    case "going-away": {
      const notice = { type: "going_away", deadline_s: message.deadlineSeconds } as const;
      return drain(state, CLOSE.goingAway, [{ type: "send", message: notice }]);
    }
    case "bad-message":
      return onBadMessage(state, message);
    case "unauthorized":
      // A session that only waits for its charge has nothing left to give away.
      if (state.phase === "settling") return { state, effects: NO_EFFECTS };
      return stopWith(state, CLOSE.unauthorized, "unauthorized", message.detail);
    case "idle":
      return stopWith(state, CLOSE.idle, "idle", "no audio and no keepalive for 60 s");
    case "disconnected":
      return {
        state: { phase: "stopped", acceptedSamples: state.acceptedSamples },
        effects: [{ type: "release" }],
      };
  }
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
  const next: LiveState = { phase: "listening", acceptedSamples, shown: state.shown };
  if (message.isRefused) {
    return stopWith(next, CLOSE.badRequest, "too_fast", "more than 60 s of audio wait to be processed");
  }
  if (acceptedSamples > MAX_SESSION_SECONDS * sampleRateHz) {
    return stopWith(next, CLOSE.tooLong, "session_too_long", "a session holds at most 4 hours of audio");
  }
  return { state: next, effects: NO_EFFECTS };
}

/** Nobody's program sends so many by mistake and goes on. */
function onBadMessage(
  state: OpenState,
  { detail, isOneTooMany }: Extract<LiveMessage, { type: "bad-message" }>,
): Decision<LiveState, LiveEffect> {
  const answer = errorMessage("bad_message", detail, false);
  if (!isOneTooMany) return { state, effects: [answer] };
  const rule = `${MOST_BAD_MESSAGES} messages within a minute could not be understood`;
  const stopped = stopWith(state, CLOSE.badRequest, "too_many_messages", rule);
  return { state: stopped.state, effects: [answer, ...stopped.effects] };
}

function onEvent(state: OpenState, event: LiveEvent): Decision<LiveState, LiveEffect> {
  switch (event.type) {
    case "ready":
    case "final":
      return { state, effects: [{ type: "send-event", event }] };
    case "partial":
      return onPartial(state, event);
    case "failed":
      return stopWith(state, CLOSE.internal, "internal", event.message);
    case "unavailable": {
      const { code, message } = event.error;
      const closeCode = code === "SHUTTING_DOWN" ? CLOSE.goingAway : CLOSE.noCapacity;
      return stopWith(state, closeCode, errorName(code), message);
    }
    case "finished": {
      if (state.phase === "settling") return { state, effects: [] };
      const closeCode = state.phase === "draining" ? state.closeCode : CLOSE.done;
      return {
        state: { ...state, phase: "settling", closeCode },
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
  const { utterance, text, stable } = partial;
  const { startSample, endSample } = event;
  const shown = { utterance, text };
  const shownEvent = { type: "partial", utterance, text, stable, startSample, endSample } as const;
  const { acceptedSamples } = state;
  return {
    state: state.phase === "listening" ? { phase: "listening", acceptedSamples, shown } : { ...state, shown },
    effects: [{ type: "send-event", event: shownEvent }],
  };
}

function onUnfunded(state: OpenState, error: ServiceError): Decision<LiveState, LiveEffect> {
  if (state.phase !== "listening") return { state, effects: [] };
  const isOut = error.code === "OUT_OF_CREDITS";
  const notice = errorMessage(errorName(error.code), error.message, !isOut);
  return drain(state, isOut ? CLOSE.outOfCredits : CLOSE.storeAway, [notice]);
}

function onSettled(state: LiveState, credits: number, sampleRateHz: number): Decision<LiveState, LiveEffect> {
  if (state.phase !== "settling") return { state, effects: [] };
  const { acceptedSamples, closeCode } = state;
  const done = {
    type: "done",
    audio_seconds: acceptedSamples / sampleRateHz,
    credits_charged: credits,
  } as const;
  return {
    state: { phase: "stopped", acceptedSamples },
    effects: [
      { type: "send", message: done },
      { type: "close-socket", code: closeCode, reason: CLOSE_REASON[closeCode] ?? "done" },
      { type: "release" },
    ],
  };
}

function drain(
  state: OpenState,
  closeCode: number,
  notices: readonly LiveEffect[],
): Decision<LiveState, LiveEffect> {
  if (state.phase === "draining" || state.phase === "settling") return { state, effects: notices };
  return {
    state: { ...state, phase: "draining", closeCode },
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
    state: { phase: "stopped", acceptedSamples: state.acceptedSamples },
    effects: [
      errorMessage(code, detail, OUR_FAULT.has(closeCode)),
      { type: "close-socket", code: closeCode, reason: code },
      { type: "release" },
    ],
  };
}

function errorName(code: ErrorCode): string {
  return code.toLowerCase();
}

function errorMessage(code: string, detail: string, retryable: boolean): LiveEffect {
  return { type: "send", message: { type: "error", code, detail, retryable } };
}
