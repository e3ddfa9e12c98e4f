/** What goes over a live socket, in order. */
export type LiveItem =
  | { readonly type: "audio"; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly type: "finalize" }
  | { readonly type: "close" };

interface Chunk {
  readonly startByte: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

interface Mark {
  readonly number: number;
  readonly atByte: number;
}

/**
 * What was sent into a live session and may have to be sent again: audio and the places where utterances were ended by
 * hand. Positions are bytes since the session began. It holds what it is given until it is told to forget.
 */
export class LiveHistory {
  readonly #chunks: Chunk[] = [];
  #marks: Mark[] = [];
  #markCount = 0;
  #endByte = 0;
  #isClosed = false;

  /** First byte that is still known. */
  get startByte(): number {
    return this.#chunks[0]?.startByte ?? this.#endByte;
  }

  /** One past the last byte. */
  get endByte(): number {
    return this.#endByte;
  }

  /** No more will come. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Takes bytes over: nobody may change them any more. */
  append(bytes: Uint8Array<ArrayBuffer>): void {
    if (bytes.length === 0) return;
    this.#chunks.push({ startByte: this.#endByte, bytes });
    this.#endByte += bytes.length;
  }

  /** Remembers that the utterance ends here. */
  finalize(): void {
    this.#marks.push({ number: this.#markCount++, atByte: this.#endByte });
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Forgets chunks that end at or before `byte`. */
  forgetBefore(byte: number): void {
    const kept = this.#chunks.findIndex((chunk) => chunk.startByte + chunk.bytes.length > byte);
    this.#chunks.splice(0, kept === -1 ? this.#chunks.length : kept);
    this.#marks = this.#marks.filter((mark) => mark.atByte >= this.startByte);
  }

  /** Reads everything from a position on, as it comes. A mark at the very position belongs to what was before it. */
  readFrom(byte: number): LiveHistoryReader {
    const marksBefore = this.#marks.findLast((mark) => mark.atByte <= byte && byte > 0)?.number ?? -1;
    return new LiveHistoryReader(this, byte, marksBefore);
  }

  /** The audio at a position, up to the next mark and the end of its chunk; null when there is none yet. */
  audioAt(byte: number, maxBytes: number): Uint8Array<ArrayBuffer> | null {
    const chunk = this.#chunks.find(({ startByte, bytes }) => startByte + bytes.length > byte);
    if (chunk === undefined) return null;
    const from = byte - chunk.startByte;
    return chunk.bytes.subarray(from, from + maxBytes);
  }

  markAfter(number: number): Mark | null {
    return this.#marks.find((mark) => mark.number > number) ?? null;
  }
}

/** A place in a history, which moves on as it is read. */
export class LiveHistoryReader {
  readonly #history: LiveHistory;
  #byte: number;
  #lastMark: number;
  #hasClosed = false;

  constructor(history: LiveHistory, byte: number, lastMark: number) {
    this.#history = history;
    this.#byte = byte;
    this.#lastMark = lastMark;
  }

  get byte(): number {
    return this.#byte;
  }

  /** What comes next, audio at most `maxBytes` long; null when there is nothing yet, or nothing that fits. */
  next(maxBytes: number): LiveItem | null {
    const mark = this.#history.markAfter(this.#lastMark);
    const beforeMark = mark === null ? Number.POSITIVE_INFINITY : mark.atByte - this.#byte;
    if (mark !== null && beforeMark <= 0) {
      this.#lastMark = mark.number;
      return { type: "finalize" };
    }
    if (this.#byte < this.#history.endByte) return this.#audio(Math.min(maxBytes, beforeMark));
    if (!this.#history.isClosed || this.#hasClosed) return null;
    this.#hasClosed = true;
    return { type: "close" };
  }

  #audio(maxBytes: number): LiveItem | null {
    const bytes = maxBytes <= 0 ? null : this.#history.audioAt(this.#byte, maxBytes);
    if (bytes === null) return null;
    this.#byte += bytes.length;
    return { type: "audio", bytes };
  }
}
