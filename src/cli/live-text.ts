import { countCodePoints } from "../../core/domain/text/code-points.js";
import { additionOf, type SentencePart } from "../client/live-sentences.js";
import type { LiveResult } from "../client/live-types.js";

const DEFAULT_COLUMNS = 80;
/** A partial that has fewer columns than this is printed on the next row. */
const LEAST_ROOM = 24;

/** The methods of standard output that this file uses. */
export interface TextOutput {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

/**
 * Prints the text of a live session, one sentence per line. Text is only ever appended. If a sentence may
 * continue after a final, its line stays open, and the next final or the end of the session adds the
 * punctuation. Terminals also show partials after the text, which the next result erases.
 */
export class LiveText {
  readonly #output: TextOutput;
  /** The last text printed: that of the open line, if there is one. */
  #text = "";
  #isOpen = false;
  /** Number of characters of the open line since the start of its first row. */
  #written = 0;
  /** Sequence that erases the partial and moves the cursor back to the end of the open line. */
  #erase = "";

  constructor(output: TextOutput) {
    this.#output = output;
  }

  final(final: SentencePart): void {
    const { mark, isNewSentence, text, isComplete } = additionOf(final, this.#text);
    if (text === "") {
      this.#write("");
      return;
    }
    if (this.#isOpen) {
      this.#write(isNewSentence ? `${mark}\n` : `${mark} `);
      if (isNewSentence) this.#written = 0;
    }
    this.#write(isComplete ? `${text}\n` : text);
    if (isComplete) this.#written = 0;
    this.#isOpen = !isComplete;
    this.#text = text;
  }

  /**
   * Prints the final of one of several speakers as a separate line, and shows partials as for a single
   * speaker. Sentences of different speakers alternate, so no line stays open for later punctuation.
   */
  turn(
    speaker: string,
    { type, text, display_text = text }: LiveResult & { readonly display_text?: string | undefined },
  ): void {
    if (type === "partial") this.partial(`${speaker}: ${text}`);
    else if (display_text === "") this.#write("");
    else this.#write(`${speaker}: ${display_text}\n`);
    if (type === "final") this.#written = 0;
  }

  /** Shows only the end of a long partial, which changes most: a wrapped row could not be erased. */
  partial(text: string): void {
    this.#write("");
    const { isTTY = false, columns = DEFAULT_COLUMNS } = this.#output;
    if (!isTTY || text === "") return;
    const column = this.#written % columns;
    const home = column === 0 ? "\r" : `\r\x1b[${column}C`;
    const isBelow = columns - column < LEAST_ROOM;
    const lead = isBelow ? "\n" : column === 0 ? "" : " ";
    const room = columns - 1 - (isBelow || column === 0 ? 0 : column + 1);
    this.#output.write(lead + Array.from(text).slice(-room).join(""));
    this.#erase = isBelow ? `\r\x1b[K\x1b[A${home}` : `${home}\x1b[K`;
  }

  /** Runs `write`, which prints lines to the same terminal, and puts them below the text so far. */
  above(write: () => void): void {
    if (this.#output.isTTY === true) {
      this.#write(this.#isOpen ? "\n" : "");
      this.#written = 0;
    }
    write();
  }

  /** Ends the text. @param mark closing punctuation of the last sentence, if its line is open */
  end(mark: string): void {
    this.#write(this.#isOpen ? `${mark}\n` : "");
    this.#isOpen = false;
  }

  #write(text: string): void {
    const all = this.#erase + text;
    this.#erase = "";
    if (all !== "") this.#output.write(all);
    this.#written += countCodePoints(text);
  }
}
