import type { Log } from "../../../core/observe/log.js";

export interface DriverGuard {
  readonly log: Log;
  /** Called for each rejection that was let pass. */
  readonly onFault: () => void;
}

/**
 * The last resort behind `scripts/patch-postgres.mjs`: a rejection of the database driver that nobody holds is logged
 * and counted, and the process lives. By then the caller has an answer, or a time limit that gives one. All other
 * rejections end the process, as they do without a handler; so do exceptions, the driver's too, for they leave a
 * connection in the middle of its work.
 */
export function guardAgainstDriver({ log, onFault }: DriverGuard): void {
  process.on("unhandledRejection", (reason) => {
    if (!isOfDriver(reason)) throw reason;
    log.error({ err: reason }, "rejection of the database driver that nobody holds");
    onFault();
  });
}

/** Whether a failure was made or marked by the database driver. */
function isOfDriver(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error ? String(error.code) : "";
  // A query that the driver refuses leaves its text on the error, whatever the error is.
  const isMarked = "query" in error && "parameters" in error;
  const isKnown = /^(CONNECTION_[A-Z]+|CONNECT_TIMEOUT|57P0\d)$/.test(code);
  return isMarked || isKnown || /[\\/]node_modules[\\/]postgres[\\/]/.test(error.stack ?? "");
}
