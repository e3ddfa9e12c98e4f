import { ServiceError } from "../errors.js";
import type { UsageKind } from "./tariff.js";

/** Kinds of work with a limit on concurrency. */
export type WorkKind = "synthesis" | "files" | "live";
export type ConcurrencyLimits = Readonly<Record<WorkKind, number>>;
/** `free` until the organization has paid. */
export type OrganizationTier = "paid" | "free";

export const CONCURRENCY_LIMITS: Readonly<Record<OrganizationTier, ConcurrencyLimits>> = {
  paid: { synthesis: 20, files: 10, live: 20 },
  free: { synthesis: 4, files: 2, live: 4 },
};

/** The kind of work of each metered kind. */
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

/** @param count pieces of work that one client requested, such as the channels of a live socket */
export function tooManyRequests(kind: WorkKind, limit: number, count = 1): ServiceError {
  const rule = `an organization may have at most ${limit} ${CALLED[kind]} at once`;
  const advice = count > limit ? `each of the ${count} channels counts as one` : "wait until one has ended";
  return new ServiceError("TOO_MANY_REQUESTS", `${rule}: ${advice}`);
}
