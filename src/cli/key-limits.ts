import {
  isKeyEndpoint,
  KEY_ENDPOINTS,
  type KeyLimits,
  LARGEST_MONTHLY_CREDITS,
  LONGEST_OVERLAP_S,
  orderedEndpoints,
} from "../../core/domain/key-limits.js";
import { type Options, UsageError, wholeNumber } from "./command.js";

const SECONDS_OF = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;
const NONE = "none";

/** Reads limits from the options of a command; `none` removes a limit. @throws {UsageError} */
export function keyLimits(options: Options, now = new Date()): Partial<KeyLimits> {
  const given = (name: string) => options.text(name)?.trim();
  const [credits, endpoints, expires] = [given("monthly-credits"), given("endpoints"), given("expires")];
  return {
    ...(credits !== undefined && { monthlyCredits: credits === NONE ? null : readCap(credits) }),
    ...(endpoints !== undefined && { endpoints: endpoints === NONE ? null : readEndpoints(endpoints) }),
    ...(expires !== undefined && { expiresAt: expires === NONE ? null : readExpiry(expires, now) }),
  };
}

/** Reads how many seconds the previous secret stays valid. @throws {UsageError} */
export function overlapSeconds(text: string): number {
  const seconds = readDuration(text);
  if (seconds !== null && seconds <= LONGEST_OVERLAP_S) return seconds;
  throw new UsageError(`--overlap must be a duration from 0 to 30d, such as 24h, received "${text}"`);
}

function readCap(text: string): number {
  return wholeNumber("--monthly-credits", text, LARGEST_MONTHLY_CREDITS);
}

function readEndpoints(text: string): KeyLimits["endpoints"] {
  const names = text.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !isKeyEndpoint(name));
  if (unknown === undefined) return orderedEndpoints(names.filter(isKeyEndpoint));
  throw new UsageError(`--endpoints must list some of ${KEY_ENDPOINTS.join(", ")}, received "${unknown}"`);
}

/** Reads a date (midnight UTC), a time, or a duration from now. */
function readExpiry(text: string, now: Date): Date {
  const seconds = readDuration(text);
  const isMoment = /^\d{4}-\d\d-\d\d(T.*)?$/.test(text);
  const moment =
    seconds === null ? new Date(isMoment ? text : "") : new Date(now.getTime() + seconds * 1_000);
  if (moment.getTime() > now.getTime()) return moment;
  throw new UsageError(
    `--expires must be in the future: a date such as 2030-12-31, a time such as 2030-12-31T18:00:00Z, ` +
      `or a duration such as 90d, received "${text}"`,
  );
}

function readDuration(text: string): number | null {
  const match = /^(\d{1,9})([smhd]?)$/.exec(text);
  if (match === null) return null;
  return Number(match[1]) * SECONDS_OF[(match[2] || "s") as keyof typeof SECONDS_OF];
}
