import { ConsoleError } from "./console-error.js";
import { API, type ConsoleRoute, type UserCall } from "./route.js";

/** Lists the routes for a user's open sessions. */
export function sessionRoutes(): readonly ConsoleRoute[] {
  return [
    { method: "GET", path: `${API}/sessions`, access: "user", handle: listSessions },
    { method: "DELETE", path: `${API}/sessions`, access: "user", handle: endOthers },
    { method: "DELETE", path: `${API}/sessions/:session`, access: "user", handle: endOne },
  ];
}

async function listSessions({ deps, user, session }: UserCall) {
  const sessions = await deps.store.users.sessions(user.id, session);
  const data = sessions.map(({ id, createdAt, expiresAt, address, agent, isCurrent }) => {
    return { id, created_at: createdAt, expires_at: expiresAt, address, agent, is_current: isCurrent };
  });
  return { body: { data } };
}

async function endOthers({ deps, user, session }: UserCall) {
  const ended = await deps.store.users.endOtherSessions(user.id, session);
  for (const hash of ended) deps.endings.endSession(hash);
  return { body: { ended: ended.length } };
}

async function endOne({ deps, user, param }: UserCall) {
  const ended = await deps.store.users.endSession(user.id, param("session"));
  if (ended === null) throw new ConsoleError("not_found", `no such session: "${param("session")}"`);
  deps.endings.endSession(ended);
  return { body: {} };
}
