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
 * Keeps the input of a live session that may have to be sent again: audio, and marks where the caller ended
 * utterances. Positions are in bytes since the start of the session.
 */
export class LiveHistory {
  readonly #chunks: Chunk[] = [];
  #marks: Mark[] = [];
  #markCount = 0;
  #endByte = 0;
  #isClosed = false;

  /** Position of the first byte that is still kept. */
  get startByte(): number {
    return this.#chunks[0]?.startByte ?? this.#endByte;
  }

  get endByte(): number {
    return this.#endByte;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Adds audio. Takes ownership of the bytes: the caller must not change them. */
  append(bytes: Uint8Array<ArrayBuffer>): void {
    if (bytes.length === 0) return;
    this.#chunks.push({ startByte: this.#endByte, bytes });
    this.#endByte += bytes.length;
  }

  finalize(): void {
    this.#marks.push({ number: this.#markCount++, atByte: this.#endByte });
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Drops chunks that end at or before `byte`. */
  dropBefore(byte: number): void {
    const kept = this.#chunks.findIndex((chunk) => chunk.startByte + chunk.bytes.length > byte);
    this.#chunks.splice(0, kept === -1 ? this.#chunks.length : kept);
    this.#marks = this.#marks.filter((mark) => mark.atByte >= this.startByte);
  }

  /** Returns a reader that starts at `byte`. A mark exactly there belongs to the earlier audio. */
  readFrom(byte: number): LiveHistoryReader {
    const marksBefore = this.#marks.findLast((mark) => mark.atByte <= byte && byte > 0)?.number ?? -1;
    return new LiveHistoryReader(this, byte, marksBefore);
  }

  /** Returns at most `maxBytes` of audio at a position, from one chunk; null if there is none yet. */
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

  /**
   * Returns the next item, with at most `maxBytes` of audio; null if there is nothing yet, or no room for it.
   */
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
