import { ratio, seconds } from "../../../core/domain/rounded.js";
import type { RealtimeLogprob, UnsentEvent } from "../../../core/protocol/realtime-events.js";
import type { StreamServerMessage } from "../../../core/protocol/stream-messages.js";

type Partial = Extract<StreamServerMessage, { readonly type: "partial" }>;
type Final = Extract<StreamServerMessage, { readonly type: "final" }>;
type Utterance = Partial | Final;

/** A turn of the speaker, which becomes a conversation item. */
interface Turn {
  readonly id: string;
  readonly texts: string[];
  readonly logprobs: RealtimeLogprob[];
  hasStarted: boolean;
  /** True once part of its text was sent as deltas. */
  hasDeltas: boolean;
  /** Utterance of the last delta, and the text that was already sent. */
  utterance: number;
  sent: string;
}

/** A commit or clear that the session has not reached yet; earlier results belong to `turn`. */
interface Mark {
  /** Null for a clear, whose results are discarded. */
  readonly turn: Turn | null;
  readonly seconds: number;
}

export interface TurnRules {
  /** Whether an utterance's end also ends the turn. */
  readonly detectsTurns: boolean;
  readonly logprobs: boolean;
  /** Whether the client uses the beta's events. */
  readonly isBeta: boolean;
}

const NO_EVENTS: readonly UnsentEvent[] = [];

/**
 * Translates a session's partials and finals into turns. A turn ends with an utterance, or where the client
 * commits. Deltas are the stable text of partials, so they only append. The transcript is the text of the
 * finals.
 */
export class RealtimeTurns {
  readonly #prefix: string;
  readonly #marks: Mark[] = [];
  #count = 0;
  #turn: Turn;
  #previousId: string | null = null;
  /** End of the last turn, in seconds of audio. */
  #endSeconds = 0;

  /** @param prefix prefix of item IDs */
  constructor(prefix: string) {
    this.#prefix = prefix;
    this.#turn = this.#newTurn();
  }

  /** Seconds of audio that belong to no turn yet. @param heardSeconds duration of all audio so far */
  openSeconds(heardSeconds: number): number {
    return Math.max(0, heardSeconds - this.#endSeconds);
  }

  partial(message: Partial, rules: TurnRules): readonly UnsentEvent[] {
    const turn = this.#turnOfResults();
    if (turn === null) return NO_EVENTS;
    const stable = [...message.text].slice(0, message.stable).join("");
    return [...this.#started(turn, message, rules), ...deltaOf(turn, message.utterance, stable)];
  }

  final(message: Final, rules: TurnRules): readonly UnsentEvent[] {
    const turn = this.#turnOfResults();
    if (turn === null) return NO_EVENTS;
    const started = this.#started(turn, message, rules);
    if (message.text !== "") turn.texts.push(message.text);
    if (rules.logprobs) turn.logprobs.push(...logprobsOf(message));
    const deltas = deltaOf(turn, message.utterance, message.text);
    if (turn !== this.#turn || !rules.detectsTurns) return [...started, ...deltas];
    const end = Math.max(this.#endSeconds, message.end);
    const turnSeconds = end - this.#endSeconds;
    const ended = this.#end(end, rules, message.end);
    return [...started, ...ended, ...deltas, ...completed(turn, turnSeconds, rules)];
  }

  /** Called when the client ends the turn after `heardSeconds` of audio. `reached` follows. */
  commit(heardSeconds: number, rules: TurnRules): readonly UnsentEvent[] {
    this.#marks.push({ turn: this.#turn, seconds: this.openSeconds(heardSeconds) });
    return this.#end(heardSeconds, rules, heardSeconds);
  }

  /** Called when the client discards the turn. `reached` follows. */
  clear(heardSeconds: number): void {
    this.#marks.push({ turn: null, seconds: 0 });
    this.#turn = this.#newTurn();
    this.#endSeconds = heardSeconds;
  }

  /** Called when all results before the oldest commit or clear have arrived. */
  reached(rules: TurnRules): readonly UnsentEvent[] {
    const mark = this.#marks.shift();
    if (mark === undefined || mark.turn === null) return NO_EVENTS;
    return completed(mark.turn, mark.seconds, rules);
  }

  /** Returns the turn of the results; null if they belong to cleared audio. */
  #turnOfResults(): Turn | null {
    const [mark] = this.#marks;
    return mark === undefined ? this.#turn : mark.turn;
  }

  #started(turn: Turn, { start }: Utterance, { detectsTurns }: TurnRules): readonly UnsentEvent[] {
    if (!detectsTurns || turn.hasStarted || turn !== this.#turn) return NO_EVENTS;
    turn.hasStarted = true;
    return [
      {
        type: "input_audio_buffer.speech_started",
        item_id: turn.id,
        audio_start_ms: Math.round(start * 1_000),
      },
    ];
  }

  /** Ends the current turn, which then becomes an item. */
  #end(heardSeconds: number, { isBeta }: TurnRules, stoppedSeconds: number): readonly UnsentEvent[] {
    const { id, hasStarted } = this.#turn;
    const previous_item_id = this.#previousId;
    this.#previousId = id;
    this.#endSeconds = heardSeconds;
    this.#turn = this.#newTurn();
    const item = {
      id,
      object: "realtime.item",
      type: "message",
      status: "completed",
      role: "user",
      content: [{ type: "input_audio", transcript: null }],
    } as const;
    const audio_end_ms = Math.round(stoppedSeconds * 1_000);
    const stopped = { type: "input_audio_buffer.speech_stopped", item_id: id, audio_end_ms } as const;
    const added: readonly UnsentEvent[] = isBeta
      ? [{ type: "conversation.item.created", previous_item_id, item }]
      : [
          { type: "conversation.item.added", previous_item_id, item },
          { type: "conversation.item.done", previous_item_id, item },
        ];
    return [
      ...(hasStarted ? [stopped] : []),
      { type: "input_audio_buffer.committed", item_id: id, previous_item_id },
      ...added,
    ];
  }

  #newTurn(): Turn {
    const id = `item_${this.#prefix}${(this.#count++).toString(36).padStart(6, "0")}`;
    return { id, texts: [], logprobs: [], hasStarted: false, hasDeltas: false, utterance: -1, sent: "" };
  }
}

/** Returns the unsent part of an utterance's text; none if the text contradicts what was already sent. */
function deltaOf(turn: Turn, utterance: number, text: string): readonly UnsentEvent[] {
  if (turn.utterance !== utterance) {
    turn.utterance = utterance;
    turn.sent = "";
  }
  if (text.length <= turn.sent.length || !text.startsWith(turn.sent)) return NO_EVENTS;
  const separator = turn.sent === "" && turn.hasDeltas ? " " : "";
  const delta = separator + text.slice(turn.sent.length);
  turn.sent = text;
  turn.hasDeltas = true;
  return [
    {
      type: "conversation.item.input_audio_transcription.delta",
      item_id: turn.id,
      content_index: 0,
      delta,
    },
  ];
}

function completed(turn: Turn, turnSeconds: number, { logprobs }: TurnRules): readonly UnsentEvent[] {
  return [
    {
      type: "conversation.item.input_audio_transcription.completed",
      item_id: turn.id,
      content_index: 0,
      transcript: turn.texts.join(" "),
      usage: { type: "duration", seconds: seconds(turnSeconds) },
      ...(logprobs && { logprobs: turn.logprobs }),
    },
  ];
}

/** Lowest confidence used, so that logarithms are finite. */
const LEAST_CONFIDENCE = 0.000_1;

function logprobsOf({ words = [] }: Final): readonly RealtimeLogprob[] {
  return words.map(({ word, confidence }) => ({
    token: word,
    logprob: ratio(Math.log(Math.max(LEAST_CONFIDENCE, confidence))),
    bytes: [...Buffer.from(word)],
  }));
}
