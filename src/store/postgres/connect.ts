import { setTimeout as sleep } from "node:timers/promises";
import postgres, { type Sql } from "postgres";
import type { Log } from "../../../core/observe/log.js";
import type { PostgresConnection } from "./embedded-postgres.js";

const MAX_CONNECTIONS = 8;
const CONNECT_TIMEOUT_S = 5;
const RECONNECT_PAUSE_S = 0.2;
const STATEMENT_TIMEOUT_MS = 10_000;
const REACHABLE_POLL_MS = 500;
/** Converts int8 and numeric, which are text by default, to numbers. Ours stay far below 2^53. */
const NUMBERS = { to: 20, from: [20, 1700], parse: Number, serialize: String };

/** Creates a pool of connections, opened on demand. */
export function connect(target: PostgresConnection | string, log: Pick<Log, "debug">): Sql {
  const options = {
    max: MAX_CONNECTIONS,
    types: { numbers: NUMBERS },
    connect_timeout: CONNECT_TIMEOUT_S,
    // The driver's own pause grows to 20 s, which is too long once the database is back.
    backoff: () => RECONNECT_PAUSE_S,
    connection: { application_name: "dauys" },
    onnotice: (notice: postgres.Notice) => log.debug({ notice: notice["message"] }, "database notice"),
  };
  if (typeof target === "string") return postgres(target, options) as Sql;
  // Only for the private server: a pooler in front of a user's database may reject this parameter.
  const connection = { ...options.connection, statement_timeout: STATEMENT_TIMEOUT_MS };
  return postgres({ ...target, ...options, connection }) as Sql;
}

/**
 * Waits for a database that may be starting at the same time as this process.
 *
 * @throws {Error} with the last failure as its cause, if the database does not answer within `limitMs`
 */
export async function untilReachable(sql: Sql, limitMs: number): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  while (true) {
    try {
      await sql`select 1`;
      return;
    } catch (cause) {
      if (!isTransient(cause) || performance.now() >= deadlineMs) {
        const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
        throw new Error(`Cannot reach the database: ${reason}`, { cause });
      }
      await sleep(REACHABLE_POLL_MS);
    }
  }
}

/** Returns whether a later attempt may succeed; false for a wrong password or a missing database. */
function isTransient(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const startingUp = "57P03";
  return code === startingUp || /^(ECONN|ETIMEDOUT|EAI_AGAIN|ENOTFOUND|EHOSTUNREACH|CONNECT)/.test(code);
}
