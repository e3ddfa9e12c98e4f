import type { AddProgress } from "../models/hub/add-from-catalogue.js";
import { clock, type LinePart, megabytes } from "./progress.js";

/** Window over which the rate is measured: older data says little about the rest of the download. */
const WINDOW_MS = 10_000;
/** A rate measured over less time is not meaningful. */
const RATE_AFTER_MS = 1_000;
const NOTE_EVERY_MS = 250;

interface Mark {
  readonly atMs: number;
  readonly bytes: number;
}

/** Progress of one file: a bar, the rate of the last seconds, and the time left. */
export class FileProgress {
  readonly #now: () => number;
  #file = "";
  #bytes = 0;
  #total: number | null = null;
  #marks: Mark[] = [];

  /** @param now returns milliseconds of a monotonic clock */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  moved({ file, bytes, total }: AddProgress): void {
    const atMs = this.#now();
    // This is another file, or the same one restarted.
    if (file !== this.#file || bytes < this.#bytes) this.#marks = [];
    this.#file = file;
    this.#bytes = bytes;
    this.#total = total;
    const last = this.#marks.at(-1);
    if (last === undefined || atMs - last.atMs >= NOTE_EVERY_MS) this.#marks.push({ atMs, bytes });
    while (this.#marks.length > 2 && atMs - this.#marks[0]!.atMs > WINDOW_MS) this.#marks.shift();
  }

  parts(): readonly LinePart[] {
    if (this.#file === "") return ["preparing"];
    const rate = this.#bytesPerMs();
    const shownRate = rate === null ? [] : [`${((rate * 1_000) / 1_000_000).toFixed(1)} MB/s`];
    if (this.#total === null) return [this.#file, `${megabytes(this.#bytes)} MB`, ...shownRate];
    const share = this.#bytes / this.#total;
    const left = rate === null ? [] : [`${clock((this.#total - this.#bytes) / rate)} left`];
    const sizes = `${megabytes(this.#bytes)} of ${megabytes(this.#total)} MB`;
    // The sizes come last, because narrow terminals cut off the end.
    return [this.#file, { share }, `${Math.floor(share * 100)} %`, ...left, ...shownRate, sizes];
  }

  /** Returns null until there is enough data. */
  #bytesPerMs(): number | null {
    const first = this.#marks[0];
    if (first === undefined) return null;
    const sinceMs = this.#now() - first.atMs;
    const bytes = this.#bytes - first.bytes;
    return sinceMs >= RATE_AFTER_MS && bytes > 0 ? bytes / sinceMs : null;
  }
}
