import { constants } from "node:os";
import { CommandError } from "./command.js";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Thrown after Ctrl-C or another terminating signal; the exit code is 128 plus the signal's number. */
export class Interrupted extends CommandError {
  override readonly name = "Interrupted";
  readonly exitCode: number;

  constructor(signal: NodeJS.Signals) {
    super("interrupted");
    this.exitCode = exitCodeOf(signal);
  }
}

/** Returns the exit code that a shell reports after a signal. */
export function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** Runs `work` with a signal that the first Ctrl-C or SIGTERM aborts. A second one ends the process. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const control = new AbortController();
  const unlisten = () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  const onSignal = (signal: NodeJS.Signals) => {
    unlisten();
    control.abort(new Interrupted(signal));
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  try {
    return await work(control.signal);
  } finally {
    unlisten();
  }
}
