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
import { openLoadBalancer } from "./load-balancer.js";
import { prepareDatabase } from "./prepared-database.js";
import { SEED } from "./seed.js";
import { SILENT } from "./silent-log.js";

export { type ServiceProcess, TEST_KEY } from "../../bench/support/service-process.js";

/** If this is 2, every service of a test is two services behind one address, with one database. */
const SERVICES = "TEST_SERVICES";

/** Two services on one database. */
export interface TwoServices extends ServiceProcess {
  readonly services: readonly [ServiceProcess, ServiceProcess];
  /** The number of requests that each service got. */
  counts(): readonly number[];
}

/**
 * Starts the real service in a separate process, with a prepared database unless its folder has one. Its
 * models are loaded by the first request that needs them; set `MODEL_PRELOAD: "true"` for a test that
 * measures time.
 */
export async function startServiceProcess(
  environment: Readonly<Record<string, string>> = {},
  options: ServiceProcessOptions = {},
): Promise<ServiceProcess> {
  return process.env[SERVICES] === "2"
    ? await startTwoServices(environment, options)
    : await startOne(environment, options);
}

/**
 * Starts two services on the private database of the first. A seeded random choice distributes the requests.
 */
export async function startTwoServices(
  environment: Readonly<Record<string, string>> = {},
  options: ServiceProcessOptions = {},
): Promise<TwoServices> {
  const first = await startOne(environment, options);
  const { PORT: _port, DATA_DIR: _dataDir, ...others } = environment;
  const second = await startBeside(first, others, options);
  const balancer = await openLoadBalancer(() => [first.port, second.port], SEED);
  return {
    ...first,
    url: balancer.url,
    port: balancer.port,
    services: [first, second],
    counts: () => balancer.counts(),
    output: () => first.output() + second.output(),
    stop: async () => {
      await balancer.close();
      const codes = [await second.stop(), await first.stop()];
      return codes.find((code) => code !== 0) ?? 0;
    },
  };
}

/** Starts another service on the private database of a running one. */
export async function startBeside(
  { dataDir }: ServiceProcess,
  environment: Readonly<Record<string, string>> = {},
  options: ServiceProcessOptions = {},
): Promise<ServiceProcess> {
  const shared = {
    DATABASE_URL: await databaseUrlOf(dataDir),
    KEY_PEPPER: (await readFile(join(dataDir, "key-pepper"), "utf8")).trim(),
    // Each service has its own metrics.
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

/** Adds credits for a test that needs more than the free ones, without starting a process for a command. */
export async function creditDevelopment({ dataDir }: ServiceProcess, credits: number): Promise<void> {
  const connection = JSON.parse(await readFile(join(dataDir, "postgres.json"), "utf8"));
  const sql = connect(connection as PostgresConnection, SILENT);
  try {
    await new Transfers(sql).topUp("org_development", credits, "credits of a test");
  } finally {
    await sql.end();
  }
}
