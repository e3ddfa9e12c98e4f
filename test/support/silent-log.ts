import { createLog, type Log } from "../../core/observe/log.js";

/** A log for tests that read no log lines. */
export const SILENT: Log = createLog({ level: "silent" });
