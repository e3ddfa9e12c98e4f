import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import type { Log } from "../../../core/observe/log.js";
import { isErrno } from "../postgres/secret-files.js";

/** Size of a cell: a zero-padded ID, then the units as an unsigned 64-bit little-endian number. */
const CELL_BYTES = 64;
const ID_BYTES = CELL_BYTES - 8;
const FIRST_CELLS = 64;
const TWO_TO_32 = 2 ** 32;

/**
 * Records the units that each hold of this service must pay for, in a file with one cell per hold that is
 * overwritten in place. A write takes microseconds and happens in the turn of the event loop in which bytes
 * arrive or are sent, so the next start can bring the database up to date after a kill. There is no fsync:
 * writes survive the process. After a crash of the machine, or if the disk fails (which is logged, never
 * thrown), the database's older numbers count.
 */
export class HoldJournal {
  #file: number | null;
  readonly #log: Log;
  readonly #cells = new Map<string, number>();
  readonly #freeCells: number[] = [];
  /** Content of the file after the next write. */
  #bytes: Buffer;
  #cellCount = 0;
  /** Range of cells that were not written yet, `[first, end)`. */
  #dirty: { first: number; end: number } | null = null;
  #isFailing = false;

  private constructor(file: number, bytes: Buffer, log: Log) {
    this.#file = file;
    this.#cellCount = Math.ceil(bytes.length / CELL_BYTES);
    this.#bytes = Buffer.alloc(this.#cellCount * CELL_BYTES);
    bytes.copy(this.#bytes);
    this.#log = log;
  }

  /** Opens the file. `left` contains the units by hold that an earlier process recorded. */
  static open(
    path: string,
    log: Log,
  ): { readonly journal: HoldJournal; readonly left: ReadonlyMap<string, number> } {
    const left = new Map<string, number>();
    const bytes = readIfPresent(path);
    for (let start = 0; start + CELL_BYTES <= bytes.length; start += CELL_BYTES) {
      const [id = ""] = bytes.toString("utf8", start, start + ID_BYTES).split("\0", 1);
      if (id !== "") left.set(id, Number(bytes.readBigUInt64LE(start + ID_BYTES)));
    }
    const file = openSync(path, bytes.length === 0 ? "w" : "r+", 0o600);
    return { journal: new HoldJournal(file, bytes, log), left };
  }

  /** Drops everything, because the database has all that an earlier process left. */
  clear(): void {
    if (this.#file === null) return;
    ftruncateSync(this.#file);
    this.#cellCount = 0;
    this.#dirty = null;
    this.#freeCells.length = 0;
    this.#cells.clear();
  }

  /** Records the units of a hold. They are written when this returns. */
  note(id: string, units: number): void {
    if (this.#isWritten(id, units)) return;
    this.#put(id, units);
    this.#write();
  }

  /**
   * Records the units of a hold, but writes them with others at the end of this turn; for small live
   * messages.
   */
  noteSoon(id: string, units: number): void {
    if (this.#dirty === null) setImmediate(() => this.#write());
    this.#put(id, units);
  }

  /** Drops a hold whose end is in the database. */
  forget(id: string): void {
    const cell = this.#cells.get(id);
    if (cell === undefined) return;
    this.#cells.delete(id);
    this.#freeCells.push(cell);
    this.#change(cell, "", 0);
    this.#write();
  }

  /** Closes the file. Later records are lost. */
  close(): void {
    this.#write();
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #isWritten(id: string, units: number): boolean {
    const cell = this.#cells.get(id);
    if (cell === undefined || this.#dirty !== null || this.#isFailing) return false;
    return this.#bytes.readBigUInt64LE(cell * CELL_BYTES + ID_BYTES) === BigInt(units);
  }

  #put(id: string, units: number): void {
    const known = this.#cells.get(id);
    if (known !== undefined) {
      this.#setUnits(known, units);
      return;
    }
    const cell = this.#freeCells.pop() ?? this.#cellCount++;
    this.#cells.set(id, cell);
    this.#change(cell, id, units);
  }

  #change(cell: number, id: string, units: number): void {
    const start = cell * CELL_BYTES;
    if (start >= this.#bytes.length) this.#grow();
    this.#bytes.fill(0, start, start + CELL_BYTES);
    // A longer ID would be cut and never found, and its hold would be settled by the database's numbers.
    this.#bytes.write(id, start, ID_BYTES);
    this.#setUnits(cell, units);
  }

  #setUnits(cell: number, units: number): void {
    const start = cell * CELL_BYTES + ID_BYTES;
    // Write two halves instead of a BigInt, because this runs for every live message.
    this.#bytes.writeUInt32LE(units % TWO_TO_32, start);
    this.#bytes.writeUInt32LE(Math.floor(units / TWO_TO_32), start + 4);
    this.#dirty ??= { first: cell, end: cell + 1 };
    this.#dirty.first = Math.min(this.#dirty.first, cell);
    this.#dirty.end = Math.max(this.#dirty.end, cell + 1);
  }

  #grow(): void {
    const larger = Buffer.alloc(Math.max(FIRST_CELLS * CELL_BYTES, 2 * this.#bytes.length));
    this.#bytes.copy(larger);
    this.#bytes = larger;
  }

  #write(): void {
    const dirty = this.#dirty;
    this.#dirty = null;
    if (dirty === null || this.#file === null) return;
    const start = dirty.first * CELL_BYTES;
    try {
      writeSync(this.#file, this.#bytes, start, dirty.end * CELL_BYTES - start, start);
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#log.error({ err: error }, "usage journal not written");
      this.#isFailing = true;
    }
  }
}

function readIfPresent(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return Buffer.alloc(0);
    throw error;
  }
}
