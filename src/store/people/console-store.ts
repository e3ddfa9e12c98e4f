import type { Sql } from "postgres";
import type { ConsoleKeys, ConsoleStore } from "../../ports/console-store.js";
import type { ApiKeys } from "./api-keys.js";
import { PostgresMembers } from "./members.js";
import { PostgresPasswordResets } from "./password-resets.js";
import type { PostgresReports } from "./reports.js";
import { PostgresUsers } from "./users.js";

/** What the console asks of the database. */
export function makeConsoleStore(sql: Sql, apiKeys: ApiKeys, reports: PostgresReports): ConsoleStore {
  return {
    users: new PostgresUsers(sql),
    resets: new PostgresPasswordResets(sql),
    members: new PostgresMembers(sql),
    keys: keysOf(apiKeys),
    reports,
  };
}

function keysOf(apiKeys: ApiKeys): ConsoleKeys {
  return {
    list: (organizationId) => apiKeys.list(organizationId),
    create: ({ makerId, ...wanted }) => apiKeys.createBy(makerId, wanted),
    revoke: async (organizationId, keyId) => {
      const owned = (await apiKeys.list(organizationId)).some(({ id }) => id === keyId);
      return owned ? apiKeys.revoke(keyId) : null;
    },
  };
}
