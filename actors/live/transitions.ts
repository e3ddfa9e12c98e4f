import { CLOSE } from "../../core/domain/close-codes.js";
import { errorName, isUnpaid } from "../../core/domain/errors.js";
import { countCodePoints, firstCodePoints } from "../../core/domain/text/code-points.js";
import type { Decision } from "../../core/kernel/actor.js";
import { CLOSE_CODE } from "../../core/protocol/error-status.js";
import type { Ending, EventNamed, LiveEffect, LiveState, OpenState, StateIn } from "./state.js";

// Limits of a live session; docs/live-protocol.md documents them.

/** Longest session, in audio: 4 hours. */
const MAX_SESSION_SECONDS = 4 * 3_600;
/** A client that sends neither audio nor keepalive for this long is considered gone. */
export const IDLE_SECONDS = 60;
/** Most audio that may wait to be decoded; longer than the wait for a cold model (`MODEL_WAIT_MS`). */
export const BACKLOG_SECONDS = 60;
/** A session ends after this many unintelligible messages within `BAD_MESSAGES_WITHIN_MS` of the first. */
const MAX_BAD_MESSAGES = 10;
const BAD_MESSAGES_WITHIN_MS = 60_000;

/** Close codes after which the same audio may succeed in a new session. */
const OUR_FAULT: ReadonlySet<number> = new Set([CLOSE.internal, CLOSE.noCapacity, CLOSE.goingAway]);

const DONE: Ending = { code: CLOSE.done, reason: "done" };
const GOING_AWAY: Ending = { code: CLOSE.goingAway, reason: "going away" };

const NO_EFFECTS: readonly LiveEffect[] = [];
const FINALIZED: readonly LiveEffect[] = [{ type: "send-finalized" }];

type LiveDecision = Decision<LiveState, LiveEffect>;

/** The event has no effect in this state. A stopped session answers nothing (I3). */
export function ignore(state: LiveState): LiveDecision {
  return { state, effects: NO_EFFECTS };
}

export function acceptAudio(
  state: StateIn<"listening">,
  event: EventNamed<"audio">,
  sampleRateHz: number,
): LiveDecision {
  const acceptedSamples = state.acceptedSamples + event.sampleCount;
  // Listing the members is many times cheaper than a spread, and most messages are audio and partials.
  const { isReady, shown, bad } = state;
  const next: OpenState = {
    phase: "listening",
    acceptedSamples,
    isReady,
    hasUnfinalized: true,
    shown,
    bad,
  };
  if (event.isRefused) {
    const rule = `more than ${BACKLOG_SECONDS} s of audio wait to be processed`;
    return stopWith(next, CLOSE.badRequest, "too_fast", rule);
  }
  if (acceptedSamples > MAX_SESSION_SECONDS * sampleRateHz) {
    return stopWith(next, CLOSE.tooLong, "session_too_long", "a session holds at most 4 hours of audio");
  }
  return { state: next, effects: NO_EFFECTS };
}

/** Ignores a mark without new audio, so that clients cannot queue marks faster than audio (I9). */
export function markUtterance(state: StateIn<"listening">): LiveDecision {
  if (!state.hasUnfinalized) return { state, effects: NO_EFFECTS };
  return { state: { ...state, hasUnfinalized: false }, effects: [{ type: "finalize" }] };
}

export function drainClosed(state: StateIn<"listening">): LiveDecision {
  return drain(state, DONE, []);
}

export function drainLeaving(
  state: StateIn<"listening">,
  { deadlineSeconds }: EventNamed<"going-away">,
): LiveDecision {
  return drain(state, GOING_AWAY, [leaving(deadlineSeconds)]);
}

/** The session is already ending, and keeps its first reason (I8). */
export function noticeLeaving(state: OpenState, { deadlineSeconds }: EventNamed<"going-away">): LiveDecision {
  return { state, effects: [leaving(deadlineSeconds)] };
}

export function drainUnfunded(state: StateIn<"listening">, { error }: EventNamed<"unfunded">): LiveDecision {
  const reason = errorName(error.code);
  const notice = errorMessage(reason, error.message, !isUnpaid(error.code));
  return drain(state, { code: CLOSE_CODE[error.code], reason }, [notice]);
}

export function answerBadMessage(
  state: OpenState,
  { detail, atMs }: EventNamed<"bad-message">,
): LiveDecision {
  const isRecent = atMs - state.bad.sinceMs <= BAD_MESSAGES_WITHIN_MS;
  const bad = isRecent ? { ...state.bad, count: state.bad.count + 1 } : { count: 1, sinceMs: atMs };
  const answer = errorMessage("bad_message", detail, false);
  if (bad.count < MAX_BAD_MESSAGES) return { state: { ...state, bad }, effects: [answer] };
  const rule = `${MAX_BAD_MESSAGES} messages within a minute could not be understood`;
  const ending = stopWith(state, CLOSE.badRequest, "too_many_messages", rule);
  return { state: ending.state, effects: [answer, ...ending.effects] };
}

export function announce(state: OpenState, event: EventNamed<"ready" | "final">): LiveDecision {
  return {
    state: state.isReady ? state : { ...state, isReady: true },
    effects: [{ type: "send-event", event }],
  };
}

/**
 * Sends a partial unless that would break a promise. Promises survive a change of worker (I12).
 *
 * The greedy hypothesis of a causal encoder only grows, so all of its text is promised. Models that read an
 * utterance repeatedly promise the part on which their hypotheses agree. After a lost worker, the audio is
 * decoded again with less left context and a letter may change. The client then keeps its text until a
 * partial continues it, or the final arrives.
 */
export function sendPartial(state: OpenState, event: EventNamed<"partial">): LiveDecision {
  const { utterance, text, startSample, endSample } = event;
  const before = state.shown?.utterance === utterance ? state.shown.text : "";
  if (!text.startsWith(before)) return { state, effects: NO_EFFECTS };
  const agreed = event.stable === undefined ? text : firstCodePoints(text, event.stable);
  // A replacement worker may have agreed on a shorter text.
  const shown = { utterance, text: agreed.length >= before.length ? agreed : before };
  const stable = countCodePoints(shown.text);
  const { type, endOfTurn } = event;
  const bare = { type, utterance, text, stable, startSample, endSample };
  const shownEvent = endOfTurn === undefined ? bare : { ...bare, endOfTurn };
  const effects: readonly LiveEffect[] = [{ type: "send-event", event: shownEvent }];
  if (state.phase !== "listening") return { state: { ...state, isReady: true, shown }, effects };
  const { phase, acceptedSamples, hasUnfinalized, bad } = state;
  return { state: { phase, acceptedSamples, isReady: true, hasUnfinalized, shown, bad }, effects };
}

/** Confirms a mark: the decoder has sent all finals before it (I15). */
export function confirmMark(state: OpenState): LiveDecision {
  return { state, effects: FINALIZED };
}

/** A decoder that finishes without being asked has decoded everything. */
export function settleUnasked(state: StateIn<"listening">): LiveDecision {
  return { state: { ...state, phase: "settling", ending: DONE }, effects: [{ type: "settle" }] };
}

export function settleDrained(state: StateIn<"draining">): LiveDecision {
  return { state: { ...state, phase: "settling" }, effects: [{ type: "settle" }] };
}

/** Sends `done` once the charge is written (I5). */
export function finish(
  state: StateIn<"settling">,
  { credits }: EventNamed<"settled">,
  sampleRateHz: number,
): LiveDecision {
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

export function stopFailed(state: OpenState, { message }: EventNamed<"failed">): LiveDecision {
  return stopWith(state, CLOSE.internal, "internal", message);
}

export function stopUnavailable(state: OpenState, { error }: EventNamed<"unavailable">): LiveDecision {
  const closeCode = error.code === "SHUTTING_DOWN" ? CLOSE.goingAway : CLOSE.noCapacity;
  return stopWith(state, closeCode, errorName(error.code), error.message);
}

export function stopUnauthorized(state: OpenState, { detail }: EventNamed<"unauthorized">): LiveDecision {
  return stopWith(state, CLOSE.unauthorized, "unauthorized", detail);
}

export function stopIdle(state: OpenState): LiveDecision {
  return stopWith(state, CLOSE.idle, "idle", `no audio and no keepalive for ${IDLE_SECONDS} s`);
}

/** Sends no message, because the client has left (I14). */
export function releaseAll(state: OpenState): LiveDecision {
  return { state: stopped(state), effects: [{ type: "release" }] };
}

/** The only place that asks the worker to finish: here a session leaves `listening` (I7). */
function drain(state: StateIn<"listening">, ending: Ending, notices: readonly LiveEffect[]): LiveDecision {
  return { state: { ...state, phase: "draining", ending }, effects: [...notices, { type: "finish" }] };
}

function stopWith(state: OpenState, closeCode: number, code: string, detail: string): LiveDecision {
  return {
    state: stopped(state),
    effects: [
      errorMessage(code, detail, OUR_FAULT.has(closeCode)),
      { type: "close-socket", code: closeCode, reason: code },
      { type: "release" },
    ],
  };
}

function stopped({ acceptedSamples, isReady }: OpenState): LiveState {
  return { phase: "stopped", acceptedSamples, isReady };
}

function leaving(deadlineSeconds: number): LiveEffect {
  return { type: "send", message: { type: "going_away", deadline_s: deadlineSeconds } };
}

function errorMessage(code: string, detail: string, retryable: boolean): LiveEffect {
  return { type: "send", message: { type: "error", code, detail, retryable } };
}
