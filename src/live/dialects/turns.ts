import { ratio, seconds } from "../../../core/domain/rounded.js";
import { majorityLanguage } from "../../../core/domain/text/script.js";
import type { StreamServerMessage } from "../../../core/protocol/stream-messages.js";
import type { TurnInfo } from "../../../core/protocol/turns-messages.js";

type Partial = Extract<StreamServerMessage, { readonly type: "partial" }>;
type Final = Extract<StreamServerMessage, { readonly type: "final" }>;
type Word = TurnInfo["words"][number];
/** A turn event without the members that all messages have. */
export type TurnEvent = Omit<TurnInfo, "type" | "request_id" | "sequence_id">;

export interface TurnRules {
  /** Silence that ends a turn. */
  readonly turnMs: number;
  /** Whether the end of an utterance is reported before the end of its turn. */
  readonly isEager: boolean;
  /** Silence at which the confidence reaches 1. */
  readonly sureMs: number;
  /** Silence after which the session ends an utterance. */
  readonly utteranceMs: number;
}

const LANGUAGES = { kazakh: "kk", russian: "ru" } as const;

/**
 * Joins the utterances of a live session into turns. `idle`: no speech yet. `ongoing`: during an utterance.
 * `awaiting`: after its final, until there is more speech or enough silence.
 */
export class Turns {
  readonly #rules: TurnRules;
  #phase: "idle" | "ongoing" | "awaiting" = "idle";
  #index = 0;
  #startSeconds = 0;
  /** End of the last word or partial. */
  #endSeconds = 0;
  /** Words of finished utterances. */
  #words: readonly Word[] = [];
  /** Text of the utterance in progress. */
  #partial = "";

  constructor(rules: TurnRules) {
    this.#rules = rules;
  }

  /** @param heardSeconds audio of the session so far */
  partial({ text, start, end }: Partial, heardSeconds: number): readonly TurnEvent[] {
    if (text === "") return [];
    const before = this.#phase;
    this.#hear(start, end);
    this.#partial = text;
    this.#phase = "ongoing";
    if (before === "idle") return [this.#event("StartOfTurn", heardSeconds)];
    // Without eager ends, clients do not know that the speaker had paused.
    const isResumed = before === "awaiting" && this.#rules.isEager;
    return [this.#event(isResumed ? "TurnResumed" : "Update", heardSeconds)];
  }

  /** @param final its `mark` completes the words of the previous final in the same turn */
  final(
    { text, start, end, words = [], from_finalize, mark = "" }: Final & { readonly mark?: string },
    heardSeconds: number,
  ): readonly TurnEvent[] {
    // Nothing was said since the last final.
    if (text === "" && this.#phase !== "ongoing") return this.heard(heardSeconds);
    const before = this.#phase;
    if (text !== "") this.#hear(start, end);
    this.#partial = "";
    this.#words = [...withMark(this.#words, mark), ...words];
    this.#phase = "awaiting";
    const events = before === "idle" ? [this.#event("StartOfTurn", heardSeconds)] : [];
    if (before === "awaiting" && this.#rules.isEager) events.push(this.#event("TurnResumed", heardSeconds));
    // Only a client that ends the turn finalizes.
    if (from_finalize === true) return [...events, this.#end("manual", heardSeconds)];
    const { isEager, turnMs, utteranceMs } = this.#rules;
    // Here the session's endpointer alone decides; it may wait longer in the middle of a sentence.
    if (!isEager && utteranceMs >= turnMs) return [...events, this.#end("model", heardSeconds)];
    if (this.#words.length > 0) events.push(this.#event(isEager ? "EagerEndOfTurn" : "Update", heardSeconds));
    return [...events, ...this.heard(heardSeconds)];
  }

  /** Ends a turn after enough silence. */
  heard(heardSeconds: number): readonly TurnEvent[] {
    const silentMs = (heardSeconds - this.#endSeconds) * 1_000;
    if (this.#phase !== "awaiting" || silentMs < this.#rules.turnMs) return [];
    return [this.#end(this.#rules.turnMs > this.#rules.sureMs ? "timeout" : "model", heardSeconds)];
  }

  /**
   * Ends a turn whose speech is final. If there is none, the session must finalize: its final, or `force`
   * after its confirmation if a pause had ended the utterance just before, ends the turn.
   */
  force(heardSeconds: number): readonly TurnEvent[] {
    return this.#phase === "awaiting" ? [this.#end("manual", heardSeconds)] : [];
  }

  /** Ends the turn because the session ends. */
  finish(heardSeconds: number): readonly TurnEvent[] {
    return this.#phase === "idle" ? [] : [this.#end("model", heardSeconds)];
  }

  #hear(start: number, end: number): void {
    if (this.#phase === "idle") this.#startSeconds = start;
    this.#endSeconds = end;
  }

  #end(trigger: NonNullable<TurnEvent["trigger"]>, heardSeconds: number): TurnEvent {
    const event = { ...this.#event("EndOfTurn", heardSeconds), trigger };
    this.#phase = "idle";
    this.#words = [];
    this.#partial = "";
    this.#index++;
    return event;
  }

  #event(event: TurnEvent["event"], heardSeconds: number): TurnEvent {
    const partial = this.#partial === "" ? [] : this.#partial.split(" ");
    const words = [...this.#words, ...partial.map((word) => ({ word, confidence: 0 }))];
    const language = majorityLanguage(words.map(({ word }) => word));
    const silentMs = Math.max(0, heardSeconds - this.#endSeconds) * 1_000;
    return {
      event,
      turn_index: this.#index,
      audio_window_start: seconds(this.#startSeconds),
      audio_window_end: seconds(Math.max(this.#endSeconds, heardSeconds)),
      transcript: words.map(({ word }) => word).join(" "),
      words,
      end_of_turn_confidence: event === "EndOfTurn" ? 1 : ratio(Math.min(1, silentMs / this.#rules.sureMs)),
      ...(language !== null && { languages: [LANGUAGES[language]] }),
    };
  }
}

/** Adds punctuation to the last word. */
function withMark(words: readonly Word[], mark: string): readonly Word[] {
  const last = words.at(-1);
  return last === undefined ? words : [...words.slice(0, -1), { ...last, word: last.word + mark }];
}
