import { createLog, type Log } from "../../core/observe/log.js";

/** A log whose lines no test reads. */
export const SILENT: Log = createLog({ level: "silent" });
