import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import type { Log } from "../../../core/observe/log.js";
import { isErrno } from "../postgres/secret-files.js";

/** Id, padded with zeros, and then a whole number of units. */
const CELL_BYTES = 64;
const ID_BYTES = CELL_BYTES - 8;
const LEAST_CELLS = 64;
const TWO_TO_32 = 2 ** 32;

/**
 * What each hold of this service has to pay for so far, in a file beside the database: a cell per hold, overwritten in
 * place. A note takes microseconds and is made in the very turn of the event loop in which bytes came or went, so that
 * after a killed process the database can be told what it had not yet heard. Written without fsync: what a process
 * wrote outlives it, and when the whole machine stops the database's own, older numbers are in force. So they are when
 * the disk refuses, which is logged and never fails the work itself.
 */
export class HoldJournal {
  #file: number | null;
  readonly #log: Log;
  readonly #cells = new Map<string, number>();
  readonly #freeCells: number[] = [];
  /** What the file holds, or will after the next write. */
  #bytes: Buffer;
  #cellCount = 0;
  /** Cells from the first of these up to, without, the second are not written yet. */
  #dirty: { first: number; end: number } | null = null;
  #isFailing = false;

  private constructor(file: number, bytes: Buffer, log: Log) {
    this.#file = file;
    this.#cellCount = Math.ceil(bytes.length / CELL_BYTES);
    this.#bytes = Buffer.alloc(this.#cellCount * CELL_BYTES);
    bytes.copy(this.#bytes);
    this.#log = log;
  }

  /** Takes the file over, with the units by hold that an earlier process left in it. */
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

  /** The database knows everything that an earlier process left. */
  clear(): void {
    if (this.#file === null) return;
    ftruncateSync(this.#file);
    this.#cellCount = 0;
    this.#dirty = null;
    this.#freeCells.length = 0;
    this.#cells.clear();
  }

  /** Written before this returns. */
  note(id: string, units: number): void {
    if (this.#holds(id, units)) return;
    this.#put(id, units);
    this.#write();
  }

  /** Written at the end of this turn of the event loop, in one go with all others: live audio comes in many small messages. */
  noteSoon(id: string, units: number): void {
    if (this.#dirty === null) setImmediate(() => this.#write());
    this.#put(id, units);
  }

  /** The database knows. */
  forget(id: string): void {
    const cell = this.#cells.get(id);
    if (cell === undefined) return;
    this.#cells.delete(id);
    this.#freeCells.push(cell);
    this.#change(cell, "", 0);
    this.#write();
  }

  /** What is noted after it is lost. */
  close(): void {
    this.#write();
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  /** Whether the file says so already. */
  #holds(id: string, units: number): boolean {
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
    // An id that is longer is found by nobody later, and its hold is then settled by what the database knows.
    this.#bytes.write(id, start, ID_BYTES);
    this.#setUnits(cell, units);
  }

  #setUnits(cell: number, units: number): void {
    const start = cell * CELL_BYTES + ID_BYTES;
    // Two halves of 64 bits, without a BigInt: live audio is noted with each of its messages.
    this.#bytes.writeUInt32LE(units % TWO_TO_32, start);
    this.#bytes.writeUInt32LE(Math.floor(units / TWO_TO_32), start + 4);
    this.#dirty ??= { first: cell, end: cell + 1 };
    this.#dirty.first = Math.min(this.#dirty.first, cell);
    this.#dirty.end = Math.max(this.#dirty.end, cell + 1);
  }

  #grow(): void {
    const larger = Buffer.alloc(Math.max(LEAST_CELLS * CELL_BYTES, 2 * this.#bytes.length));
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
