/** Shared header, in Int32 cells: counts of bytes since the beginning modulo 2^32, and whether the reader was told. */
const WRITTEN = 0;
const RELEASED = 1;
const RUNG = 2;
const HEADER_BYTES = 16;

/** Kind, channel and length come before the bytes of a record; records begin at multiples of this. */
const RECORD_HEADER_BYTES = 16;
/** Fills the rest of the storage, so that every record lies in one piece. */
const FILLER = -1;

/** Told about one record; the bytes are lent for the length of the call. */
export type RecordVisitor = (kind: number, channel: number, bytes: Uint8Array) => void;

/** Small records over a SharedArrayBuffer, in order: one writing thread, one reading thread, for life. */
export class RecordRing {
  readonly buffer: SharedArrayBuffer;
  readonly capacityBytes: number;
  readonly #header: Int32Array;
  readonly #cells: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #mask: number;

  private constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.capacityBytes = buffer.byteLength - HEADER_BYTES;
    this.#header = new Int32Array(buffer, 0, HEADER_BYTES / 4);
    this.#cells = new Int32Array(buffer, HEADER_BYTES);
    this.#bytes = new Uint8Array(buffer, HEADER_BYTES);
    this.#mask = this.capacityBytes - 1;
  }

  /** @param capacityBytes a power of two from 64 to 2^30; a record may take half of it, its header included */
  static create(capacityBytes: number): RecordRing {
    if (!Number.isInteger(Math.log2(capacityBytes)) || capacityBytes < 64 || capacityBytes > 2 ** 30) {
      throw new RangeError(
        `Cannot make a record ring: capacity must be a power of two, received ${capacityBytes}`,
      );
    }
    return new RecordRing(new SharedArrayBuffer(HEADER_BYTES + capacityBytes));
  }

  /** The other end of a ring made by `create`, usually in another thread. */
  static attach(buffer: SharedArrayBuffer): RecordRing {
    return new RecordRing(buffer);
  }

  /**
   * Copies a record in; false when there is no room for it now.
   *
   * @param kind 0 or more
   * @throws {RangeError} for a record that takes more than half of the ring, for which there might never be room
   */
  write(kind: number, channel: number, bytes: Uint8Array): boolean {
    const recordBytes = RECORD_HEADER_BYTES + roundUp(bytes.length);
    if (recordBytes > this.capacityBytes / 2) {
      throw new RangeError(`Cannot write a record: it takes ${recordBytes} bytes of ${this.capacityBytes}`);
    }
    const written = Atomics.load(this.#header, WRITTEN);
    const released = Atomics.load(this.#header, RELEASED);
    const start = (written >>> 0) & this.#mask;
    const toEnd = this.capacityBytes - start;
    const skipped = recordBytes > toEnd ? toEnd : 0;
    if (skipped + recordBytes > this.capacityBytes - ((written - released) >>> 0)) return false;
    if (skipped > 0) this.#putHeader(start, FILLER, 0, skipped - RECORD_HEADER_BYTES);
    const at = skipped > 0 ? 0 : start;
    this.#putHeader(at, kind, channel, bytes.length);
    this.#bytes.set(bytes, at + RECORD_HEADER_BYTES);
    // Publish last: a reader that sees the new count must also see the record.
    Atomics.store(this.#header, WRITTEN, (written + skipped + recordBytes) | 0);
    return true;
  }

  /** Whether the reader has to be told that there is something; true once for each time that it looks. */
  needsBell(): boolean {
    return Atomics.exchange(this.#header, RUNG, 1) === 0;
  }

  /** Blocks the writing thread, which must not be a main thread, until the reader has taken something or `timeoutMs` are over. */
  waitForRoom(timeoutMs: number): void {
    const released = Atomics.load(this.#header, RELEASED);
    if (released === Atomics.load(this.#header, WRITTEN)) return;
    Atomics.wait(this.#header, RELEASED, released, timeoutMs);
  }

  /**
   * Hands what is there to `visit`, in order, but no more than about `mostRecords`; whatever it throws leaves the rest for
   * the next time.
   * @returns whether something was left, for which no bell rings
   */
  drain(visit: RecordVisitor, mostRecords = Number.POSITIVE_INFINITY): boolean {
    // Cleared first: what is written from here on rings again.
    Atomics.store(this.#header, RUNG, 0);
    const written = Atomics.load(this.#header, WRITTEN);
    let position = Atomics.load(this.#header, RELEASED);
    if (position === written) return false;
    try {
      for (let count = 0; position !== written && count < mostRecords; count++)
        position = this.#visitAt(position, visit);
    } finally {
      Atomics.notify(this.#header, RELEASED);
    }
    return position !== written;
  }

  /** Returns the position after the record, which is released although the visitor throws. */
  #visitAt(position: number, visit: RecordVisitor): number {
    const start = (position >>> 0) & this.#mask;
    const [kind = FILLER, channel = 0, length = 0] = this.#cells.subarray(start / 4, start / 4 + 3);
    const next = (position + RECORD_HEADER_BYTES + roundUp(length)) | 0;
    try {
      const from = start + RECORD_HEADER_BYTES;
      if (kind !== FILLER) visit(kind, channel, this.#bytes.subarray(from, from + length));
    } finally {
      Atomics.store(this.#header, RELEASED, next);
    }
    return next;
  }

  #putHeader(at: number, kind: number, channel: number, length: number): void {
    const cell = at / 4;
    this.#cells[cell] = kind;
    this.#cells[cell + 1] = channel;
    this.#cells[cell + 2] = length;
  }
}

function roundUp(bytes: number): number {
  return (bytes + RECORD_HEADER_BYTES - 1) & -RECORD_HEADER_BYTES;
}
