import type { Sql } from "postgres";
import type { Attempts, ConsoleStore } from "../../../core/ports/console-store.js";
import type { ApiKeys } from "./api-keys.js";
import { PostgresMembers } from "./members.js";
import { PostgresPasswordResets } from "./password-resets.js";
import type { PostgresReports } from "./reports.js";
import { PostgresUsers } from "./users.js";

/** Builds the console's access to the database. */
export function makeConsoleStore(
  sql: Sql,
  parts: { readonly apiKeys: ApiKeys; readonly reports: PostgresReports; readonly attempts: Attempts },
): ConsoleStore {
  const { apiKeys, reports, attempts } = parts;
  return {
    users: new PostgresUsers(sql),
    resets: new PostgresPasswordResets(sql),
    members: new PostgresMembers(sql),
    keys: {
      list: (organizationId) => apiKeys.list(organizationId),
      create: ({ makerId, ...wanted }) => apiKeys.createBy(makerId, wanted),
      revoke: async (organizationId, keyId) => {
        const owned = (await apiKeys.list(organizationId)).some(({ id }) => id === keyId);
        return owned ? apiKeys.revoke(keyId) : null;
      },
    },
    reports,
    attempts,
  };
}
