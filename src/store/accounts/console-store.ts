import type { Sql } from "postgres";
import type { Attempts, ConsoleStore } from "../../../core/ports/console-store.js";
import type { ApiKeys } from "./api-keys.js";
import { PostgresMembers } from "./members.js";
import { PostgresPasswordResets } from "./password-resets.js";
import type { PostgresReports } from "./reports.js";
import { PostgresUsers } from "./users.js";

/** Creates the console's access to the database. */
export function makeConsoleStore(
  sql: Sql,
  parts: { readonly apiKeys: ApiKeys; readonly reports: PostgresReports; readonly attempts: Attempts },
): ConsoleStore {
  const { apiKeys, reports, attempts } = parts;
  const isOwned = async (organizationId: string, keyId: string) =>
    (await apiKeys.list(organizationId)).some(({ id }) => id === keyId);
  return {
    users: new PostgresUsers(sql),
    resets: new PostgresPasswordResets(sql),
    members: new PostgresMembers(sql),
    keys: {
      list: (organizationId) => apiKeys.list(organizationId),
      create: ({ makerId, ...wanted }) => apiKeys.createBy(makerId, wanted),
      setLimits: async (organizationId, keyId, limits) =>
        (await isOwned(organizationId, keyId)) ? apiKeys.setLimits(keyId, limits) : null,
      rotate: async (organizationId, keyId, overlapSeconds) =>
        (await isOwned(organizationId, keyId)) ? apiKeys.rotate(keyId, overlapSeconds) : null,
      revoke: async (organizationId, keyId) => {
        return (await isOwned(organizationId, keyId)) ? apiKeys.revoke(keyId) : null;
      },
    },
    reports,
    attempts,
  };
}
