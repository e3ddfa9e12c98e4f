import type { User } from "../../../core/ports/console-store.js";
import { agentName } from "./agent-name.js";
import type { ConsoleAnswer, ConsoleDeps, OpenCall } from "./route.js";
import { newSecret, SESSION_LIFETIME_S, secretHash, sessionCookie, sessionOf } from "./session-cookie.js";

/** Begins a session in place of the one that the request came with, and says whose it is. */
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
    headers: { "set-cookie": sessionCookie(exchange.request, secret) },
  };
}

export async function endSession(deps: ConsoleDeps, session: Buffer): Promise<void> {
  await deps.store.users.closeSession(session);
  deps.endings.endSession(session);
}

/** Who is signed in, and where they belong. */
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
