import type { Migration } from "../postgres/migrate.js";

/** Adds where a session was opened, so that its owner can recognize it. Deleted with the session. */
export const originsOfSessions: Migration = {
  version: 8,
  name: "origins-of-sessions",
  sql: `
    -- Null for sessions from before. The agent is a browser and a system by name, not what the browser sent.
    alter table sessions add column address text, add column agent text;
  `,
};
