import type { Log } from "../../../core/observe/log.js";

export interface DriverGuard {
  readonly log: Log;
  /** Called for each rejection that is ignored. */
  readonly onFault: () => void;
}

/**
 * Logs and counts unhandled rejections of the database driver instead of ending the process. This is a last
 * resort after `scripts/patch-postgres.mjs`: by then the caller has a result or a deadline. All other
 * rejections end the process, and so do exceptions, even the driver's, because they leave a connection in an
 * undefined state.
 */
export function guardAgainstDriver({ log, onFault }: DriverGuard): void {
  process.on("unhandledRejection", (reason) => {
    if (!isOfDriver(reason)) throw reason;
    log.error({ err: reason }, "unhandled rejection of the database driver");
    onFault();
  });
}

/** Returns whether the database driver created or annotated an error. */
function isOfDriver(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error ? String(error.code) : "";
  // The driver adds the text of a failed query to any error.
  const isMarked = "query" in error && "parameters" in error;
  const isKnown = /^(CONNECTION_[A-Z]+|CONNECT_TIMEOUT|57P0\d)$/.test(code);
  return isMarked || isKnown || /[\\/]node_modules[\\/]postgres[\\/]/.test(error.stack ?? "");
}
