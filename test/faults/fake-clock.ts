import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The library of Debian's package `libfaketime`. */
const LIBRARY = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/** The reason why wall clocks cannot be changed on this machine, or false. */
export const WITHOUT_FAKE_CLOCK: string | false = existsSync(LIBRARY)
  ? false
  : "no libfaketime here (apt-get install libfaketime, x86-64)";

/** The wall clock of one process and its children. Their monotonic clocks are not affected. */
export class FakeClock {
  readonly #path: string;

  /** @param folder where the file with the clock's offset is kept */
  constructor(folder: string) {
    this.#path = join(folder, "clock");
    this.jumpTo(0);
  }

  /** The environment for the process; empty without libfaketime. */
  get environment(): Readonly<Record<string, string>> {
    if (WITHOUT_FAKE_CLOCK !== false) return {};
    return {
      LD_PRELOAD: LIBRARY,
      FAKETIME_TIMESTAMP_FILE: this.#path,
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      NO_FAKE_STAT: "1",
      // A process reads the file again after this many seconds.
      FAKETIME_CACHE_DURATION: "1",
    };
  }

  /** @param offsetSeconds relative to the real time */
  jumpTo(offsetSeconds: number): void {
    writeFileSync(this.#path, `${offsetSeconds < 0 ? "-" : "+"}${Math.abs(offsetSeconds)}\n`);
  }
}
