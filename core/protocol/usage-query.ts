import { z } from "zod";
import { invalid } from "../domain/errors.js";
import type { UsagePeriod } from "../domain/usage/period.js";
import { shown } from "./fields.js";
import { type Query, readQuery } from "./query.js";

const DAY_MS = 86_400_000;
/** Default number of days, up to today. */
const USUAL_DAYS = 30;
const MAX_DAYS = 366;

export const USAGE_QUERY = {
  schema: z.object({
    from: day("from").meta({ description: `First day, UTC; default: ${USUAL_DAYS - 1} days before \`to\`` }),
    to: day("to").meta({ description: `Last day, UTC; default: today. At most ${MAX_DAYS} days in all` }),
  }),
  others: "refused",
} as const satisfies Query;

/**
 * Parses the requested days.
 *
 * @throws {ServiceError} `INVALID_REQUEST` for an invalid day, or too many; `UNKNOWN_PARAMETER`
 */
export function parseUsageQuery(query: URLSearchParams, now: Date): UsagePeriod {
  const { from: given, to = toDay(now.getTime()) } = readQuery(USAGE_QUERY, query);
  const from = given ?? toDay(Date.parse(to) - (USUAL_DAYS - 1) * DAY_MS);
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
  if (days < 1) throw invalid(`from must not be later than to, received ${from} and ${to}`);
  if (days > MAX_DAYS) throw invalid(`from and to must cover at most ${MAX_DAYS} days, received ${days}`);
  return { from, to };
}

function day(name: string) {
  const error = ({ input }: { readonly input?: unknown }) =>
    `${name} must be a day such as 2026-11-21, received ${shown(input)}`;
  return z.string().refine(isDay, { error }).optional();
}

/** Whether a day is in this millennium; others are typos. */
function isDay(text: string): boolean {
  if (!/^2\d{3}-\d{2}-\d{2}$/.test(text)) return false;
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && toDay(ms) === text;
}

function toDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
