import { createHash, randomBytes } from "node:crypto";
import type { FrontRequest } from "../../../core/ports/front.js";

const NAME = "dauys_session";
const TOKEN_PATTERN = /^[A-Za-z0-9_-]{43}$/;
export const SESSION_LIFETIME_S = 14 * 86_400;

/** A random secret of 256 bits, as it is handed out: in a cookie or in a link. */
export function newSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** What is kept of such a secret. */
export function secretHash(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** Hash of the session cookie, or null when there is none of the right form. */
export function sessionOf(request: FrontRequest): Buffer | null {
  for (const pair of (request.header("cookie") ?? "").split(";")) {
    const [name = "", value = ""] = pair.trim().split("=", 2);
    if (name === NAME && TOKEN_PATTERN.test(value)) return secretHash(value);
  }
  return null;
}

/** No script can read it, no other site can send it, and no path but the console's gets it. */
export function sessionCookie(request: FrontRequest, secret: string): string {
  return cookie(request, secret, SESSION_LIFETIME_S);
}

export function endedCookie(request: FrontRequest): string {
  return cookie(request, "", 0);
}

function cookie(request: FrontRequest, value: string, maxAgeSeconds: number): string {
  // TLS ends before this service: the proxy that ends it says so.
  const isSecure = request.header("x-forwarded-proto")?.split(",")[0]?.trim() === "https";
  const flags = `Path=/console; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`;
  return `${NAME}=${value}; ${flags}${isSecure ? "; Secure" : ""}`;
}
