/** Groups of endpoints that a key may be restricted to. */
export const KEY_ENDPOINTS = ["tts", "transcribe", "live", "jobs", "account:read", "account:write"] as const;

export type KeyEndpoint = (typeof KEY_ENDPOINTS)[number];

export function isKeyEndpoint(name: string): name is KeyEndpoint {
  return (KEY_ENDPOINTS as readonly string[]).includes(name);
}

/** Limits of a key; null for none. */
export interface KeyLimits {
  /** Credits in a calendar month, UTC. */
  readonly monthlyCredits: number | null;
  /** In the order of `KEY_ENDPOINTS`. */
  readonly endpoints: readonly KeyEndpoint[] | null;
  readonly expiresAt: Date | null;
}

export const NO_KEY_LIMITS: KeyLimits = { monthlyCredits: null, endpoints: null, expiresAt: null };

export const LARGEST_MONTHLY_CREDITS = 1_000_000_000_000;

/** Maximum time that an earlier secret may stay valid after a rotation: 30 days, in seconds. */
export const LONGEST_OVERLAP_S = 30 * 24 * 3_600;
/** Default overlap, in seconds: one day. */
export const DEFAULT_OVERLAP_S = 24 * 3_600;

/** Returns endpoints once each, in the order of `KEY_ENDPOINTS`; null for all of them. */
export function orderedEndpoints(names: readonly KeyEndpoint[]): readonly KeyEndpoint[] | null {
  const ordered = KEY_ENDPOINTS.filter((name) => names.includes(name));
  return ordered.length === KEY_ENDPOINTS.length ? null : ordered;
}
