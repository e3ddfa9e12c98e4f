/** Pages for signed-in users, by their path after `/console/`. */
export const SIGNED_IN_PATHS = [
  "",
  "speak",
  "transcribe",
  "jobs",
  "listen",
  "keys",
  "vocabulary",
  "credits",
  "usage",
  "limits",
  "members",
  "account",
  "status",
] as const;

/** Pages that users see before they sign in. */
export const OPEN_PATHS = ["sign-in", "sign-up", "join", "reset"] as const;

export type SignedInPath = (typeof SIGNED_IN_PATHS)[number];

export function isSignedInPath(path: string): path is SignedInPath {
  return SIGNED_IN_PATHS.some((known) => known === path);
}

/** Returns whether `path` is a page of the console, so that the service answers 200 rather than 404. */
export function isPage(path: string): boolean {
  return isSignedInPath(path) || OPEN_PATHS.some((known) => known === path);
}

/** Returns the part of a path after `/console/`, without a trailing slash. */
export function pagePath(pathname: string): string {
  return pathname.replace(/^\/console\/?/, "").replace(/\/$/, "");
}
