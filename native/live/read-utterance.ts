import { bestToken } from "../../core/domain/decoding/greedy.js";
import type { Reading } from "../models/utterance-reader.js";
import type { EndedText, FlushOutputs, OpenText, PartialText } from "./hypothesis.js";

/** The part of an open utterance read so far. */
export interface OpenReading {
  /** Start of the utterance, in frames of the session. */
  readonly startFrame: number;
  readonly reading: Reading;
}

/** An open utterance that is read in chunks while it is spoken, and its text, whose frames are rows. */
export class ReadUtterance implements EndedText {
  /** Start in frames of the session. */
  readonly startFrame: number;
  readonly reading: Reading;
  readonly #text: OpenText;
  readonly #width: number;
  readonly #wasShown: boolean;
  #takenRows = 0;

  /** @param parts `wasShown`: another worker has reported text of the utterance */
  constructor(parts: {
    readonly startFrame: number;
    readonly reading: Reading;
    readonly text: OpenText;
    /** Number of outputs in a row. */
    readonly width: number;
    readonly wasShown: boolean;
  }) {
    this.startFrame = parts.startFrame;
    this.reading = parts.reading;
    this.#text = parts.text;
    this.#width = parts.width;
    this.#wasShown = parts.wasShown;
  }

  get hasLetters(): boolean {
    return this.#wasShown || this.#text.hasLetters;
  }

  /** Takes the rows read since the last call. */
  takeRows(): void {
    const { rows, rowCount } = this.reading;
    for (; this.#takenRows < rowCount; this.#takenRows++) {
      const at = this.#takenRows * this.#width;
      const best = bestToken(rows, at, this.#width);
      this.#text.take(best, rows[at + best]!, rows, at);
    }
  }

  takeUpdate(): PartialText | null {
    return this.#text.takeUpdate();
  }

  takeFlush(flush: FlushOutputs): PartialText | null {
    return this.#text.takeFlush(flush);
  }

  takeSecondPass(text: string): PartialText | null {
    return this.#text.takeSecondPass(text);
  }

  onResumed(): void {
    this.#text.onResumed();
  }
}
