import { createHash, randomBytes } from "node:crypto";
import type { User } from "../../../core/ports/console-store.js";
import type { FrontRequest } from "../../../core/ports/front.js";
import { agentName } from "./agent-name.js";
import type { ConsoleAnswer, ConsoleDeps, OpenCall } from "./route.js";

const NAME = "dauys_session";
const TOKEN_PATTERN = /^[A-Za-z0-9_-]{43}$/;
export const SESSION_LIFETIME_S = 14 * 86_400;

/** Starts a session that replaces the request's own, and responds like `sessionBody`. */
export async function openSession(
  { exchange, deps }: OpenCall,
  user: User,
  status: number,
): Promise<ConsoleAnswer> {
  const secret = newSecret();
  const before = sessionOf(exchange.request);
  if (before !== null) await endSession(deps, before);
  const origin = {
    address: deps.proxies.clientOf(exchange.request),
    agent: agentName(exchange.request.header("user-agent")),
  };
  await deps.store.users.openSession(user.id, secretHash(secret), SESSION_LIFETIME_S, origin);
  return {
    status,
    body: await sessionBody(deps, user),
    headers: { "set-cookie": cookie(exchange.request, secret, SESSION_LIFETIME_S) },
  };
}

export async function endSession(deps: ConsoleDeps, session: Buffer): Promise<void> {
  await deps.store.users.closeSession(session);
  deps.endings.endSession(session);
}

/** Describes the signed-in user and their organizations. */
export async function sessionBody(deps: ConsoleDeps, user: User): Promise<object> {
  const memberships = await deps.store.users.memberships(user.id);
  return {
    user: { id: user.id, email: user.email },
    organizations: memberships.map(({ organizationId, organizationName, role }) => {
      return { id: organizationId, name: organizationName, role };
    }),
    serve: deps.facts.serve,
  };
}

/** Returns the hash of a well-formed session cookie, or null. */
export function sessionOf(request: FrontRequest): Buffer | null {
  for (const pair of (request.header("cookie") ?? "").split(";")) {
    const [name = "", value = ""] = pair.trim().split("=", 2);
    if (name === NAME && TOKEN_PATTERN.test(value)) return secretHash(value);
  }
  return null;
}

/** Generates a 256-bit secret for a cookie or a link. */
export function newSecret(): string {
  return randomBytes(32).toString("base64url");
}

export function secretHash(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

export function endedCookie(request: FrontRequest): string {
  return cookie(request, "", 0);
}

/**
 * Builds a cookie that scripts cannot read, other sites cannot send, and only the console's paths receive.
 */
function cookie(request: FrontRequest, value: string, maxAgeSeconds: number): string {
  // TLS ends at a proxy, which reports it in this header.
  const isSecure = request.header("x-forwarded-proto")?.split(",")[0]?.trim() === "https";
  const flags = `Path=/console; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`;
  return `${NAME}=${value}; ${flags}${isSecure ? "; Secure" : ""}`;
}
