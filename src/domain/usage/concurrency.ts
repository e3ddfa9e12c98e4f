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
