import { ConsoleError } from "./console-error.js";
import { API, type ConsoleRoute } from "./route.js";

/** Where somebody is signed in, and how to sign out elsewhere. */
export function sessionRoutes(): readonly ConsoleRoute[] {
  return [
    {
      method: "GET",
      path: `${API}/sessions`,
      access: "user",
      handle: async ({ deps, user, session }) => {
        const sessions = await deps.store.users.sessions(user.id, session);
        const data = sessions.map(({ id, createdAt, expiresAt, address, agent, isCurrent }) => {
          return { id, created_at: createdAt, expires_at: expiresAt, address, agent, is_current: isCurrent };
        });
        return { body: { data } };
      },
    },
    {
      method: "DELETE",
      path: `${API}/sessions`,
      access: "user",
      handle: async ({ deps, user, session }) => {
        const ended = await deps.store.users.endOtherSessions(user.id, session);
        for (const hash of ended) deps.endings.endSession(hash);
        return { body: { ended: ended.length } };
      },
    },
    {
      method: "DELETE",
      path: `${API}/sessions/:session`,
      access: "user",
      handle: async ({ deps, user, param }) => {
        const ended = await deps.store.users.endSession(user.id, param("session"));
        if (ended === null) throw new ConsoleError("not_found", `no such session: "${param("session")}"`);
        deps.endings.endSession(ended);
        return { body: {} };
      },
    },
  ];
}
