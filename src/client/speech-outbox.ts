import { countCodePoints } from "../../core/domain/text/code-points.js";
import type { CancelOptions } from "./live-speech-types.js";
import type { Pronunciation } from "./speech-types.js";

/** Longest text in one message; the service accepts 5,000 characters. */
const LONGEST_PIECE = 2_000;
/** Characters that may wait at the service, which closes the socket above 20,000. */
const MOST_AHEAD = 8_000;

type Command =
  | { readonly type: "flush" }
  | { readonly type: "close" }
  | {
      readonly type: "cancel";
      readonly played_seconds?: number | undefined;
      readonly played_turn?: number | undefined;
    };
type OutgoingMessage = Command | { readonly type: "text"; readonly text: string };
/** A text message to `/v1/tts/live`. */
export type SpeechCommand =
  | OutgoingMessage
  | { readonly type: "keepalive" }
  | { readonly type: "options"; readonly pronunciations: readonly Pronunciation[] };

interface Turn {
  readonly number: number;
  /**
   * Number of characters (code points) sent, and of those that the service has started to speak, or skipped.
   */
  sent: number;
  begun: number;
}

/** Holds text and flushes until the service can take them, and joins small pieces. */
export class SpeechOutbox {
  #items: OutgoingMessage[] = [];
  /** Turns whose text is at the service, oldest first. */
  #turns: Turn[] = [{ number: 0, sent: 0, begun: 0 }];

  get isEmpty(): boolean {
    return this.#items.length === 0;
  }

  text(text: string): void {
    if (text === "") return;
    const last = this.#items.at(-1);
    if (last?.type === "text") this.#items[this.#items.length - 1] = { type: "text", text: last.text + text };
    else this.#items.push({ type: "text", text });
  }

  flush(): void {
    this.#items.push({ type: "flush" });
  }

  close(): void {
    this.#items.push({ type: "close" });
  }

  /**
   * Drops all text that was not sent. Flushes stay, because the service counts turns by them.
   * @returns the number of flushes that stay
   */
  cancel({ playedSeconds, playedTurn }: CancelOptions): number {
    const isClosed = this.#items.some(({ type }) => type === "close");
    const counted = this.#items.filter(({ type }) => type === "flush" || type === "cancel");
    // The service skips invalid messages, and a cancel must not fail because of a player's wrong clock.
    const isKnown = playedSeconds !== undefined && Number.isFinite(playedSeconds);
    const played = isKnown
      ? { played_seconds: Math.max(0, playedSeconds), played_turn: playedTurn }
      : undefined;
    this.#items = [...counted, { type: "cancel", ...played }];
    if (isClosed) this.close();
    return counted.filter(({ type }) => type === "flush").length;
  }

  /** Returns the next message; null if there is none, or the service has not caught up. */
  next(): OutgoingMessage | null {
    const [head] = this.#items;
    if (head === undefined) return null;
    const turn = this.#turns.at(-1)!;
    if (head.type !== "text") {
      this.#items.shift();
      if (head.type === "cancel") this.#turns = [];
      this.#turns.push({ number: turn.number + 1, sent: 0, begun: 0 });
      return head;
    }
    const ahead = this.#turns.reduce((sum, { sent, begun }) => sum + sent - begun, 0);
    const room = Math.min(LONGEST_PIECE, MOST_AHEAD - ahead);
    if (room <= 0) return null;
    const text = pieceOf(head.text, room);
    if (text.length === head.text.length) this.#items.shift();
    else this.#items[0] = { type: "text", text: head.text.slice(text.length) };
    turn.sent += countCodePoints(text);
    return { type: "text", text };
  }

  /** Notes that the service has started to speak a turn's text up to `characters`, or has skipped it. */
  begun(number: number, characters: number): void {
    const turn = this.#turns.find((one) => one.number === number);
    if (turn !== undefined) turn.begun = Math.max(turn.begun, Math.min(turn.sent, characters));
  }

  /** Notes that a turn is over. */
  over(number: number): void {
    this.#turns = this.#turns.filter((turn, at) => turn.number > number || at === this.#turns.length - 1);
  }
}

/** Returns the start of a text. Never splits a surrogate pair, whose halves would count as two characters. */
function pieceOf(text: string, length: number): string {
  if (text.length <= length) return text;
  const isSplit = /[\ud800-\udbff]/.test(text[length - 1]!);
  return text.slice(0, isSplit ? length + 1 : length);
}
