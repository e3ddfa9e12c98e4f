import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import {
  type ServiceProcess,
  type ServiceProcessOptions,
  startServiceProcess as startProcess,
} from "../../bench/support/service-process.js";
import { Transfers } from "../../src/store/ledger/transfers.js";
import { connect } from "../../src/store/postgres/connect.js";
import type { PostgresConnection } from "../../src/store/postgres/embedded-postgres.js";
import { temporaryFolder } from "./folders.js";
import { prepareDatabase } from "./prepared-database.js";
import { SILENT } from "./silent-log.js";

export { type ServiceProcess, TEST_KEY } from "../../bench/support/service-process.js";

/**
 * Starts the real service in a process of its own. Its database was made before, unless its folder has one, and its
 * models are loaded by the first request that needs them: `MODEL_PRELOAD: "true"` for a test that watches the clock.
 */
export async function startServiceProcess(
  environment: Readonly<Record<string, string>> = {},
  options: ServiceProcessOptions = {},
): Promise<ServiceProcess> {
  const ownDir = environment["DATA_DIR"] === undefined ? await temporaryFolder() : null;
  const dataDir = environment["DATA_DIR"] ?? ownDir!;
  if (environment["DATABASE_URL"] === undefined) await prepareDatabase(dataDir);
  const service = await startProcess({ MODEL_PRELOAD: "false", ...environment, DATA_DIR: dataDir }, options);
  return {
    ...service,
    stop: async () => {
      const code = await service.stop();
      if (ownDir !== null) await rm(ownDir, { recursive: true, force: true });
      return code;
    },
  };
}

/** Pays for a test that costs more than the free credits; what an operator's command does, without its process. */
export async function creditDevelopment({ dataDir }: ServiceProcess, credits: number): Promise<void> {
  const connection = JSON.parse(await readFile(join(dataDir, "postgres.json"), "utf8"));
  const sql = connect(connection as PostgresConnection, SILENT);
  try {
    await new Transfers(sql).topUp("org_development", credits, "credits of a test");
  } finally {
    await sql.end();
  }
}
