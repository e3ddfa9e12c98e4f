import { createLog, type Log } from "../../core/observe/log.js";

/** For parts that must be given a log and whose lines no test reads. */
export const SILENT: Log = createLog({ level: "silent" });
