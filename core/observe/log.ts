import { type DestinationStream, type Logger, pino, stdTimeFunctions } from "pino";

/** The structured log: fixed messages with fields, one JSON object per line. */
export type Log = Logger;

export interface LogOptions {
  /** A level of pino, or `silent`. */
  readonly level: string;
  /** Standard output by default. */
  readonly destination?: DestinationStream;
}

const SECRET_FIELDS = ["authorization", "cookie", "key", "rawKey", "apiKey", "token", "password", "pepper"];
/** Field paths whose values are never logged: at the top level and up to two levels below. */
const REDACTED_PATHS = SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]);

/** Creates the log. Keys and passwords are masked by field name, and then by shape in the whole line. */
export function createLog(options: LogOptions): Log {
  const settings = {
    level: options.level,
    base: { pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    redact: { paths: REDACTED_PATHS, censor: "[redacted]" },
    hooks: { streamWrite: maskSecrets },
  };
  return options.destination === undefined ? pino(settings) : pino(settings, options.destination);
}

/** Masks everything in `line` that looks like an API key or a password in a URL. */
function maskSecrets(line: string): string {
  // Most lines contain neither, and two searches for a fixed text cost less than two regular expressions.
  const withoutKeys = line.includes("-svc-")
    ? line.replace(/(s[kt]-svc-)[0-9a-zA-Z]+/g, "$1[redacted]")
    : line;
  return withoutKeys.includes("://")
    ? withoutKeys.replace(/(:\/\/[^\s/:@"]*):[^\s/@"]+@/g, "$1:[redacted]@")
    : withoutKeys;
}
