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
import { databaseUrlOf } from "../store/support.js";
import { temporaryFolder } from "./folders.js";
import { prepareDatabase } from "./prepared-database.js";
import { SEED } from "./seed.js";
import { SILENT } from "./silent-log.js";
import { openSpread } from "./spread.js";

export { type ServiceProcess, TEST_KEY } from "../../bench/support/service-process.js";

/** With 2, every service that a test starts is two behind one address and one database. */
const SERVICES = "TEST_SERVICES";

/** Two services on one database. */
export interface TwoServices extends ServiceProcess {
  readonly services: readonly [ServiceProcess, ServiceProcess];
  /** How many requests each has got. */
  counts(): readonly number[];
}

/**
 * Starts the real service in a process of its own. Its database was made before, unless its folder has one,
 * and its models are loaded by the first request that needs them: `MODEL_PRELOAD: "true"` for a test that
 * watches the clock.
 */
export async function startServiceProcess(
  environment: Readonly<Record<string, string>> = {},
  options: ServiceProcessOptions = {},
): Promise<ServiceProcess> {
  return process.env[SERVICES] === "2"
    ? await startTwoServices(environment, options)
    : await startOne(environment, options);
}

/** Starts two services on the private database of the first; requests go to either by chance, by the tests' seed. */
export async function startTwoServices(
  environment: Readonly<Record<string, string>> = {},
  options: ServiceProcessOptions = {},
): Promise<TwoServices> {
  const first = await startOne(environment, options);
  const { PORT: _port, DATA_DIR: _dataDir, ...others } = environment;
  const second = await startBeside(first, others, options);
  const spread = await openSpread(() => [first.port, second.port], SEED);
  return {
    ...first,
    url: spread.url,
    port: spread.port,
    services: [first, second],
    counts: () => spread.counts(),
    output: () => first.output() + second.output(),
    stop: async () => {
      await spread.close();
      const codes = [await second.stop(), await first.stop()];
      return codes.find((code) => code !== 0) ?? 0;
    },
  };
}

/** Another service on the private database of one that runs. */
export async function startBeside(
  { dataDir }: ServiceProcess,
  environment: Readonly<Record<string, string>> = {},
  options: ServiceProcessOptions = {},
): Promise<ServiceProcess> {
  const shared = {
    DATABASE_URL: await databaseUrlOf(dataDir),
    KEY_PEPPER: (await readFile(join(dataDir, "key-pepper"), "utf8")).trim(),
    // Metrics are each service's own.
    OPERATOR_PORT: "0",
  };
  return await startOne({ ...environment, ...shared }, options);
}

async function startOne(
  environment: Readonly<Record<string, string>>,
  options: ServiceProcessOptions,
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
