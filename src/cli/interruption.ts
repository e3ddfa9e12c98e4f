import { constants } from "node:os";
import { CommandError } from "./command.js";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Ctrl-C or another terminating signal: exit code 128 plus its number. */
export class Interrupted extends CommandError {
  override readonly name = "Interrupted";
  readonly exitCode: number;

  constructor(signal: (typeof SIGNALS)[number]) {
    super("interrupted");
    this.exitCode = exitCodeOf(signal);
  }
}

/** Returns the exit code that a shell reports after a signal. */
export function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** Turns the first terminating signal into an abort, so that commands can clean up; a second one ends the process. */
export class Interruption {
  readonly #control = new AbortController();
  readonly #onSignal = (signal: NodeJS.Signals) => {
    this.over();
    this.#control.abort(new Interrupted(signal as (typeof SIGNALS)[number]));
  };

  constructor() {
    for (const signal of SIGNALS) process.on(signal, this.#onSignal);
  }

  get signal(): AbortSignal {
    return this.#control.signal;
  }

  over(): void {
    for (const signal of SIGNALS) process.off(signal, this.#onSignal);
  }
}
