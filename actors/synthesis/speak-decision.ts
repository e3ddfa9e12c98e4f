import { CLOSE } from "../../core/domain/close-codes.js";
import { errorName, type ServiceError } from "../../core/domain/errors.js";
import type { SaidWord } from "../../core/domain/synthesis/word-times.js";
import { firstClause, firstSentence } from "../../core/domain/text/arriving-text.js";
import { countCodePoints } from "../../core/domain/text/code-points.js";
import type { Decision } from "../../core/kernel/actor.js";
import type { SpeakMessageOut } from "../../core/ports/conversations.js";
import { CLOSE_CODE, publicDetail } from "../../core/protocol/error-status.js";
import { type Failure, failureOf } from "./speak-failure.js";

// Limits of a speaking session; docs/api-deepgram.md documents them.

/** A client that sends nothing for this long, while nothing waits to be spoken, is considered gone. */
export const SPEAK_IDLE_SECONDS = 600;
/** Most text (in UTF-16 units) and most messages that may wait to be spoken. */
export const MOST_WAITING = 20_000;
const MOST_ITEMS = 1_000;
/** A session ends after this many unintelligible messages within `BAD_MESSAGES_WITHIN_MS` of the first. */
const MAX_BAD_MESSAGES = 10;
const BAD_MESSAGES_WITHIN_MS = 60_000;

/** Waiting text, or a `Flush` in its place within the text. */
type Item = { readonly type: "text"; readonly text: string } | { readonly type: "flush" };

/** The sentence being spoken. */
interface Current {
  readonly id: number;
  /** Number of characters from the start of the turn to the end of this sentence. */
  readonly through: number;
  readonly hasSounded: boolean;
}

/** Progress in characters of the text since the last `Flush` or `Clear`, counted to the end of a sentence. */
interface Turn {
  readonly cut: number;
  /** Characters of sentences whose audio was sent completely. */
  readonly delivered: number;
  /** As `delivered`, plus the sentence whose audio has started to reach the client. */
  readonly sounded: number;
}

interface Ending {
  readonly code: number;
  readonly reason: string;
}

interface OpenState {
  readonly phase: "open";
  /** Whether a turn's first sentence may start with a separate clause, before the rest has arrived. */
  readonly startsEarly: boolean;
  readonly items: readonly Item[];
  readonly current: Current | null;
  /** Length of the first waiting text when it was last searched without finding a complete sentence. */
  readonly lookedAt: number;
  readonly turn: Turn;
  /** Number of the next sentence, and of the next `Flushed` or `Cleared`. */
  readonly nextId: number;
  readonly sequence: number;
  /** Number of the current turn: the flushes and clears that the client sent before it. */
  readonly turnNumber: number;
  /** Set when the client has closed or the service stops; flushed text is still spoken. */
  readonly ending: Ending | null;
  readonly bad: { readonly count: number; readonly sinceMs: number };
}

export type SpeakState = OpenState | { readonly phase: "stopped" };

const NEW_TURN: Turn = { cut: 0, delivered: 0, sounded: 0 };

export const NEW_SPEAKING: OpenState = {
  phase: "open",
  startsEarly: false,
  items: [],
  current: null,
  lookedAt: 0,
  turn: NEW_TURN,
  nextId: 0,
  sequence: 0,
  turnNumber: 0,
  ending: null,
  bad: { count: 0, sinceMs: Number.NEGATIVE_INFINITY },
};

export type SpeakMessage =
  | { readonly type: "speak"; readonly text: string }
  | { readonly type: "flush" }
  | { readonly type: "clear" }
  | { readonly type: "close" }
  | { readonly type: "going-away" }
  /** Audio of a sentence; the last chunk may be empty. */
  | {
      readonly type: "sound";
      readonly id: number;
      readonly pcm: Int16Array;
      readonly isLast: boolean;
      /** Words that start within these samples. */
      readonly words?: readonly SaidWord[] | undefined;
    }
  /** The sentence contains nothing to speak, such as only an emoji. */
  | { readonly type: "unspeakable"; readonly id: number; readonly error: ServiceError }
  | { readonly type: "failed"; readonly id: number; readonly error: ServiceError }
  /** `atMs` is from a monotonic clock. */
  | { readonly type: "bad-message"; readonly detail: string; readonly atMs: number }
  | { readonly type: "unauthorized"; readonly detail: string }
  /** An error of the client that ends the session. */
  | { readonly type: "refused"; readonly error: ServiceError }
  | { readonly type: "idle" }
  | { readonly type: "disconnected" };

export type SpeakEffect =
  /**
   * `through`: characters from the start of the turn to the end of this sentence. `continues`: more speech
   * follows.
   */
  | { readonly type: "begin"; readonly sentence: Sentence }
  | { readonly type: "cancel" }
  /** Audio of the sentence that began last. */
  | {
      readonly type: "sound";
      readonly pcm: Int16Array;
      readonly isLast: boolean;
      readonly words?: readonly SaidWord[] | undefined;
    }
  | { readonly type: "delivered"; readonly characters: number }
  /** Charges the turn. */
  | { readonly type: "settle"; readonly characters: number }
  | { readonly type: "send"; readonly message: SpeakMessageOut }
  | { readonly type: "close-socket"; readonly code: number; readonly reason: string }
  | { readonly type: "release" };

export interface Sentence {
  readonly id: number;
  readonly text: string;
  readonly turn: number;
  /** Characters of the turn before this sentence, and up to its end. */
  readonly from: number;
  readonly through: number;
  /** True if more speech follows, so that the sentence ends with a pause. */
  readonly continues: boolean;
  /** True if this is the start of a sentence, whose rest follows after the pause of its comma. */
  readonly isClause: boolean;
}

type Decided = Decision<SpeakState, SpeakEffect>;
type GoesOn = (before: string, after: string) => boolean;

/**
 * Pure: decides a speaking session's answer to a message.
 *
 * @param goesOn abbreviations of the voice's language, as for `splitIntoSentences`
 */
export function decideSpeaking(state: SpeakState, message: SpeakMessage, goesOn?: GoesOn): Decided {
  if (state.phase === "stopped") return { state, effects: [] };
  switch (message.type) {
    case "speak":
      return onText(state, message.text, goesOn);
    case "flush":
      if (state.ending !== null) return { state, effects: [] };
      return waiting({ ...state, items: [...state.items, { type: "flush" }] }, goesOn);
    case "clear":
      return onClear(state, goesOn);
    case "close":
      return onEnding(state, { code: CLOSE.done, reason: "done" }, goesOn);
    case "going-away":
      return onEnding(state, { code: CLOSE.goingAway, reason: "going away" }, goesOn);
    case "sound":
      return onSound(state, message, goesOn);
    case "unspeakable":
      return onUnspeakable(state, message, goesOn);
    case "failed":
      return onFailed(state, message);
    case "bad-message":
      return onBadMessage(state, message);
    case "unauthorized":
      return stopWith(state, { code: CLOSE.unauthorized, name: "unauthorized", detail: message.detail });
    case "refused":
      return stopWith(state, failureOf(message.error));
    case "idle": {
      if (state.current !== null) return { state, effects: [] };
      const detail = `no message for ${SPEAK_IDLE_SECONDS} s`;
      return stopWith(state, { code: CLOSE.idle, name: "idle", detail });
    }
    case "disconnected":
      return stop(state, []);
  }
}

function onText(state: OpenState, text: string, goesOn?: GoesOn): Decided {
  if (state.ending !== null || text === "") return { state, effects: [] };
  const last = state.items.at(-1);
  const items: readonly Item[] =
    last?.type === "text"
      ? [...state.items.slice(0, -1), { type: "text", text: last.text + text }]
      : [...state.items, { type: "text", text }];
  return waiting({ ...state, items }, goesOn);
}

/** Continues unless too much is waiting. */
function waiting(state: OpenState, goesOn?: GoesOn): Decided {
  const units = state.items.reduce((sum, item) => sum + (item.type === "text" ? item.text.length : 0), 0);
  if (units <= MOST_WAITING && state.items.length <= MOST_ITEMS) return advance(state, [], goesOn);
  const detail = `at most ${MOST_WAITING} characters of text and ${MOST_ITEMS} messages may wait to be spoken`;
  return stopWith(state, { code: CLOSE_CODE.TOO_FAST, name: errorName("TOO_FAST"), detail });
}

/**
 * Drops everything that has not been sent. Charges only sentences whose audio has started to reach the
 * client.
 */
function onClear(state: OpenState, goesOn?: GoesOn): Decided {
  const { sequence, turn } = state;
  // Waiting flushes are dropped with their text, but the client has already counted them.
  const turnNumber = state.turnNumber + state.items.filter(({ type }) => type === "flush").length;
  const cleared = { items: [], current: null, lookedAt: 0, turn: NEW_TURN, sequence: sequence + 1 };
  const effects: SpeakEffect[] = [
    ...cancelled(state),
    ...settled(turn.sounded),
    { type: "send", message: { type: "cleared", sequence, turn: turnNumber } },
  ];
  return advance({ ...state, ...cleared, turnNumber: turnNumber + 1 }, effects, goesOn);
}

/** Drops text that was not flushed. */
function onEnding(state: OpenState, ending: Ending, goesOn?: GoesOn): Decided {
  if (state.ending !== null) return { state, effects: [] };
  const lastFlush = state.items.findLastIndex(({ type }) => type === "flush");
  const isFlushed = lastFlush >= 0;
  // A sentence that started before a flush is dropped with the rest of its turn.
  const current = isFlushed ? state.current : null;
  const effects = isFlushed ? [] : cancelled(state);
  return advance({ ...state, items: state.items.slice(0, lastFlush + 1), current, ending }, effects, goesOn);
}

function onSound(
  state: OpenState,
  { id, pcm, isLast, words }: Extract<SpeakMessage, { type: "sound" }>,
  goesOn?: GoesOn,
): Decided {
  const { current, turn } = state;
  if (current?.id !== id) return { state, effects: [] };
  const sound: SpeakEffect = { type: "sound", pcm, isLast, words };
  const sounded = pcm.length > 0 || current.hasSounded ? current.through : turn.sounded;
  if (!isLast) {
    const next = { ...current, hasSounded: current.hasSounded || pcm.length > 0 };
    return { state: { ...state, current: next, turn: { ...turn, sounded } }, effects: [sound] };
  }
  const over = { ...state, current: null, turn: { ...turn, sounded, delivered: sounded } };
  // Record this before the client can read the last bytes: otherwise a crash would give them away for free.
  return advance(over, [{ type: "delivered", characters: sounded }, sound], goesOn);
}

function onUnspeakable(
  state: OpenState,
  { id, error }: Extract<SpeakMessage, { type: "unspeakable" }>,
  goesOn?: GoesOn,
): Decided {
  const { current, turnNumber: turn } = state;
  if (current?.id !== id) return { state, effects: [] };
  const skipped = { turn, to: current.through };
  const detail = publicDetail(error);
  const warning = { type: "warning", code: errorName(error.code), detail, skipped } as const;
  return advance({ ...state, current: null }, [{ type: "send", message: warning }], goesOn);
}

/** The service failed, or credits ran out: the sentence is not charged. */
function onFailed(state: OpenState, { id, error }: Extract<SpeakMessage, { type: "failed" }>): Decided {
  if (state.current?.id !== id) return { state, effects: [] };
  return stopWith({ ...state, turn: { ...state.turn, sounded: state.turn.delivered } }, failureOf(error));
}

function onBadMessage(
  state: OpenState,
  { detail, atMs }: Extract<SpeakMessage, { type: "bad-message" }>,
): Decided {
  const isRecent = atMs - state.bad.sinceMs <= BAD_MESSAGES_WITHIN_MS;
  const bad = isRecent ? { ...state.bad, count: state.bad.count + 1 } : { count: 1, sinceMs: atMs };
  if (bad.count < MAX_BAD_MESSAGES) {
    const warning = { type: "warning", code: "bad_message", detail } as const;
    return { state: { ...state, bad }, effects: [{ type: "send", message: warning }] };
  }
  const rule = `${MAX_BAD_MESSAGES} messages within a minute could not be understood; the last: ${detail}`;
  return stopWith(state, { code: CLOSE.badRequest, name: "too_many_messages", detail: rule });
}

/** Acknowledges flushes whose text has been spoken, and starts the next sentence once it is complete. */
function advance(from: OpenState, before: readonly SpeakEffect[], goesOn?: GoesOn): Decided {
  const effects = [...before];
  let state = from;
  while (state.current === null) {
    const [head, next] = state.items;
    if (head === undefined) {
      if (state.ending === null) break;
      const { code, reason } = state.ending;
      const stopped = stop(state, [
        { type: "send", message: { type: "done" } },
        { type: "close-socket", code, reason },
      ]);
      return { state: stopped.state, effects: [...effects, ...stopped.effects] };
    }
    if (head.type === "flush") {
      const { sequence, turn, turnNumber, items } = state;
      const message = { type: "flushed", sequence, turn: turnNumber } as const;
      effects.push(...settled(turn.sounded), { type: "send", message });
      const next = { lookedAt: 0, turn: NEW_TURN, sequence: sequence + 1, turnNumber: turnNumber + 1 };
      state = { ...state, ...next, items: items.slice(1) };
      continue;
    }
    const isWhole = next?.type === "flush";
    if (head.text.trim() === "") {
      if (!isWhole) break;
      state = { ...state, items: state.items.slice(1), lookedAt: 0 };
      continue;
    }
    if (!isWhole && head.text.length < nextLook(state.lookedAt)) break;
    const whole = firstSentence(head.text, isWhole, goesOn);
    const text = whole ?? earlyStart(state, head.text);
    if (text === null) {
      state = { ...state, lookedAt: head.text.length };
      break;
    }
    state = withSentence(state, head.text, { text, isWhole, isClause: whole === null }, effects);
  }
  return { state, effects };
}

function earlyStart({ startsEarly, turn }: OpenState, text: string): string | null {
  return startsEarly && turn.cut === 0 ? firstClause(text) : null;
}

/** Returns the text length for the next search: the more text has no sentence end, the longer the wait. */
function nextLook(lookedAt: number): number {
  return lookedAt + Math.max(1, lookedAt >> 6);
}

function withSentence(
  state: OpenState,
  waitingText: string,
  {
    text,
    isWhole,
    isClause,
  }: { readonly text: string; readonly isWhole: boolean; readonly isClause: boolean },
  effects: SpeakEffect[],
): OpenState {
  const rest = waitingText.slice(text.length);
  const { nextId: id, turn, turnNumber, items } = state;
  const from = turn.cut;
  const through = from + countCodePoints(text);
  const continues = !isWhole || rest.trim() !== "";
  effects.push({
    type: "begin",
    sentence: { id, text, turn: turnNumber, from, through, continues, isClause },
  });
  const others = items.slice(1);
  return {
    ...state,
    items: rest === "" ? others : [{ type: "text", text: rest }, ...others],
    current: { id, through, hasSounded: false },
    lookedAt: 0,
    turn: { ...turn, cut: through },
    nextId: id + 1,
  };
}

function stopWith(state: OpenState, { code, name, detail, retryable = false }: Failure): Decided {
  const message = { type: "error", code: name, detail, retryable } as const;
  return stop(state, [
    { type: "send", message },
    { type: "close-socket", code, reason: name },
  ]);
}

/** @param last effects to run after the turn is settled */
function stop(state: OpenState, last: readonly SpeakEffect[]): Decided {
  return {
    state: { phase: "stopped" },
    effects: [...cancelled(state), ...settled(state.turn.sounded), ...last, { type: "release" }],
  };
}

function cancelled({ current }: OpenState): SpeakEffect[] {
  return current === null ? [] : [{ type: "cancel" }];
}

function settled(characters: number): SpeakEffect[] {
  return [{ type: "settle", characters }];
}
