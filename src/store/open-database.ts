import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../core/observe/log.js";
import type { Config } from "../settings/settings.js";
import { CONNECTION_FILE, EmbeddedPostgres, type PostgresConnection } from "./postgres/embedded-postgres.js";
import { FolderInUse, type LockPurpose, lockFolder } from "./postgres/folder-lock.js";

const JOIN_WITHIN_MS = 30_000;
const JOIN_POLL_MS = 200;

export interface Database {
  readonly target: PostgresConnection | string;
  /**
   * Settles with the reason if the private server, where there is one, is given up after too many crashes.
   */
  readonly lost: Promise<Error>;
  release(): Promise<void>;
}

const NEVER = new Promise<never>(() => {});

/**
 * Connects to the configured database, or starts a private one in the data folder. A command joins the
 * private server of a running service.
 *
 * @throws {FolderInUse} if another service uses the data folder
 */
export async function openDatabase(
  { databaseUrl, dataDir }: Pick<Config, "databaseUrl" | "dataDir">,
  log: Log,
  purpose: LockPurpose,
): Promise<Database> {
  if (databaseUrl !== null) {
    if (purpose === "command") return borrowed(databaseUrl);
    // Services may share a database, but the data folder, with its journal and spooled audio, belongs to one.
    const lock = await lockFolder(dataDir, purpose);
    return { ...borrowed(databaseUrl), release: () => lock.release() };
  }
  const deadlineMs = performance.now() + JOIN_WITHIN_MS;
  while (true) {
    try {
      const server = await EmbeddedPostgres.start({ dataDir, purpose, log });
      return { target: server.connection, lost: server.lost, release: () => server.stop() };
    } catch (error) {
      if (!(error instanceof FolderInUse) || performance.now() > deadlineMs) throw error;
      // Commands end soon, so wait for them. A service keeps running, so a command uses its server, and a
      // second service is rejected.
      if (error.holder.purpose === "service") {
        if (purpose === "service") throw error;
        const connection = await readFile(join(dataDir, CONNECTION_FILE), "utf8").catch(() => null);
        if (connection !== null) return borrowed(JSON.parse(connection) as PostgresConnection);
      }
      await sleep(JOIN_POLL_MS);
    }
  }
}

function borrowed(target: PostgresConnection | string): Database {
  return { target, lost: NEVER, release: async () => {} };
}
