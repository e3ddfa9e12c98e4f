import type { Decision } from "../../core/kernel/actor.js";
import type {
  EventNamed,
  LiveEffect,
  LiveMessage,
  LivePhase,
  LiveState,
  SessionEvent,
  SessionEventName,
  StateIn,
} from "./state.js";
import {
  acceptAudio,
  announce,
  answerBadMessage,
  confirmMark,
  drainClosed,
  drainLeaving,
  drainUnfunded,
  finish,
  ignore,
  markUtterance,
  noticeLeaving,
  releaseAll,
  sendPartial,
  settleDrained,
  settleUnasked,
  stopFailed,
  stopIdle,
  stopUnauthorized,
  stopUnavailable,
} from "./transitions.js";

/** A cell of the table: handles one kind of event in one state, and cannot be called in another state. */
type Transition<State, Event> = (
  state: State,
  event: Event,
  sampleRateHz: number,
) => Decision<LiveState, LiveEffect>;

/** A table that lacks a cell for some event and state does not compile (I1). */
export type TransitionTable = {
  readonly [Name in SessionEventName]: {
    readonly [Phase in LivePhase]: Transition<StateIn<Phase>, EventNamed<Name>>;
  };
};

/** Transitions by event and state; STATES.md shows the same table. */
export const TRANSITIONS = {
  audio: { listening: acceptAudio, draining: ignore, settling: ignore, stopped: ignore },
  finalize: { listening: markUtterance, draining: ignore, settling: ignore, stopped: ignore },
  close: { listening: drainClosed, draining: ignore, settling: ignore, stopped: ignore },
  "bad-message": {
    listening: answerBadMessage,
    draining: answerBadMessage,
    settling: answerBadMessage,
    stopped: ignore,
  },
  idle: { listening: stopIdle, draining: stopIdle, settling: stopIdle, stopped: ignore },
  disconnected: { listening: releaseAll, draining: releaseAll, settling: releaseAll, stopped: ignore },
  ready: { listening: announce, draining: announce, settling: announce, stopped: ignore },
  partial: { listening: sendPartial, draining: sendPartial, settling: sendPartial, stopped: ignore },
  final: { listening: announce, draining: announce, settling: announce, stopped: ignore },
  finalized: { listening: confirmMark, draining: confirmMark, settling: confirmMark, stopped: ignore },
  finished: { listening: settleUnasked, draining: settleDrained, settling: ignore, stopped: ignore },
  failed: { listening: stopFailed, draining: stopFailed, settling: stopFailed, stopped: ignore },
  unavailable: {
    listening: stopUnavailable,
    draining: stopUnavailable,
    settling: stopUnavailable,
    stopped: ignore,
  },
  unfunded: { listening: drainUnfunded, draining: ignore, settling: ignore, stopped: ignore },
  settled: { listening: ignore, draining: ignore, settling: finish, stopped: ignore },
  // While settling, only the charge is outstanding, so there is nothing left to reject.
  unauthorized: {
    listening: stopUnauthorized,
    draining: stopUnauthorized,
    settling: ignore,
    stopped: ignore,
  },
  "going-away": {
    listening: drainLeaving,
    draining: noticeLeaving,
    settling: noticeLeaving,
    stopped: ignore,
  },
} as const satisfies TransitionTable;

/** Pure: decides how a live session answers a message, using the cell of its event and state. */
export function decideLive(
  state: LiveState,
  message: LiveMessage,
  sampleRateHz: number,
): Decision<LiveState, LiveEffect> {
  // Handles the most frequent message first: fixed names are looked up three times faster than variable ones.
  if (message.type === "audio" && state.phase === "listening") {
    return TRANSITIONS.audio.listening(state, message, sampleRateHz);
  }
  const event: SessionEvent = message.type === "event" ? message.event : message;
  // The compiler cannot relate the row to the type of the event; the type of the table guarantees it.
  const transition = TRANSITIONS[event.type][state.phase] as Transition<LiveState, SessionEvent>;
  return transition(state, event, sampleRateHz);
}
