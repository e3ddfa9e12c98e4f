import { ServiceError } from "../errors.js";
import type { UsageKind } from "./tariff.js";

/** What an organization may have several of at once. */
export type WorkKind = "synthesis" | "files" | "live";
/** How many of each. */
export type ConcurrencyLimits = Readonly<Record<WorkKind, number>>;
/** An organization that has never paid lives on its free grant. */
export type OrganizationTier = "paid" | "free";

export const CONCURRENCY_LIMITS: Readonly<Record<OrganizationTier, ConcurrencyLimits>> = {
  paid: { synthesis: 20, files: 10, live: 20 },
  free: { synthesis: 4, files: 2, live: 4 },
};

/** What is limited, by what is metered. */
export const WORK_OF: Readonly<Record<UsageKind, WorkKind>> = {
  synthesis: "synthesis",
  file: "files",
  live: "live",
};

const CALLED: Readonly<Record<WorkKind, string>> = {
  synthesis: "synthesis requests",
  files: "file transcriptions",
  live: "live sessions",
};

/** What a client is told that wants more than its organization may have at once. */
export function tooManyRequests(kind: WorkKind, limit: number): ServiceError {
  return new ServiceError(
    "TOO_MANY_REQUESTS",
    `an organization may have at most ${limit} ${CALLED[kind]} at once: wait until one has ended`,
  );
}
