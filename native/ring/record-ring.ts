/** Header of Int32 cells: two positions in bytes modulo 2^32, and a flag for the wake-up. */
const WRITTEN = 0;
const RELEASED = 1;
const RUNG = 2;
const HEADER_BYTES = 16;

/** Size of the kind, channel and length before the bytes of a record; records are aligned to it. */
const RECORD_HEADER_BYTES = 16;
/** Kind of a record that fills the end of the storage, so that every record is contiguous. */
const FILLER = -1;

/** Receives a record; the bytes are valid only during the call. */
export type RecordVisitor = (kind: number, channel: number, bytes: Uint8Array) => void;

/** A queue of small records over a SharedArrayBuffer, with one writing and one reading thread for life. */
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

  /** @param capacityBytes a power of two from 64 to 2^30; a record with its header may take half of it */
  static create(capacityBytes: number): RecordRing {
    if (!Number.isInteger(Math.log2(capacityBytes)) || capacityBytes < 64 || capacityBytes > 2 ** 30) {
      throw new RangeError(
        `Cannot make a record ring: capacity must be a power of two, received ${capacityBytes}`,
      );
    }
    return new RecordRing(new SharedArrayBuffer(HEADER_BYTES + capacityBytes));
  }

  /** Opens the other end of a ring made by `create`, usually in another thread. */
  static attach(buffer: SharedArrayBuffer): RecordRing {
    return new RecordRing(buffer);
  }

  /**
   * Writes a record; false if it does not fit now.
   * @param kind 0 or more
   * @throws {RangeError} for a record larger than half of the ring, which might never fit
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

  /** Returns true if the writer must notify the reader, once per call of `drain`. */
  needsBell(): boolean {
    return Atomics.exchange(this.#header, RUNG, 1) === 0;
  }

  /** Blocks the writing thread (not a main thread) until the reader takes a record, or for `timeoutMs`. */
  waitForRoom(timeoutMs: number): void {
    const released = Atomics.load(this.#header, RELEASED);
    if (released === Atomics.load(this.#header, WRITTEN)) return;
    Atomics.wait(this.#header, RELEASED, released, timeoutMs);
  }

  /**
   * Passes about `mostRecords` records at most to `visit`, in order. If it throws, the rest stays in the
   * ring.
   * @returns true if records were left, for which there is no further notification
   */
  drain(visit: RecordVisitor, mostRecords = Number.POSITIVE_INFINITY): boolean {
    // Clear first, so that records written from here on notify again.
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

  /** Visits a record and releases it, even if the visitor throws. @returns the position after it */
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
