import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Debian's package `libfaketime`. */
const LIBRARY = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/** Why wall clocks cannot be changed here. */
export const WITHOUT_FAKE_CLOCK: string | false = existsSync(LIBRARY)
  ? false
  : "no libfaketime here (apt-get install libfaketime, x86-64)";

/** The wall clock of one process and its children; their monotonic clocks stay right. */
export class FakeClock {
  readonly #path: string;

  /** @param folder for the file that holds the clock's offset */
  constructor(folder: string) {
    this.#path = join(folder, "clock");
    this.jumpTo(0);
  }

  /** For the process; empty without libfaketime. */
  get environment(): Readonly<Record<string, string>> {
    if (WITHOUT_FAKE_CLOCK !== false) return {};
    return {
      LD_PRELOAD: LIBRARY,
      FAKETIME_TIMESTAMP_FILE: this.#path,
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      NO_FAKE_STAT: "1",
      // Seconds until a process reads the file again.
      FAKETIME_CACHE_DURATION: "1",
    };
  }

  /** @param offsetSeconds from the right time */
  jumpTo(offsetSeconds: number): void {
    writeFileSync(this.#path, `${offsetSeconds < 0 ? "-" : "+"}${Math.abs(offsetSeconds)}\n`);
  }
}
