import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after } from "node:test";
import { freePort } from "../../bench/support/free-port.js";
import { type MetricValues, readMetrics } from "../../bench/support/operator-metrics.js";
import { ApiKeys } from "../../src/store/accounts/api-keys.js";
import { Organizations } from "../../src/store/accounts/organizations.js";
import { HoldChanges } from "../../src/store/ledger/hold-changes.js";
import { connect } from "../../src/store/postgres/connect.js";
import { type ServiceProcess, startServiceProcess } from "./service-process.js";
import { SILENT } from "./silent-log.js";

/**
 * A service that the test files of a process share. Each file is a separate customer with the free credits.
 */
export interface SharedService extends Pick<ServiceProcess, "url" | "key" | "dataDir"> {
  readonly organizationId: string;
  /** The address of the operator endpoints. */
  readonly operatorUrl: string;
}

let running: Promise<{ readonly service: ServiceProcess; readonly operatorPort: number }> | null = null;

// This hook belongs to the group rather than to its first file, because `scripts/test-files.mjs` imports this
// file first.
after(async () => {
  if (running === null) return;
  const { service } = await running;
  assert.equal(await service.stop(), 0, service.output());
});

/**
 * Creates a customer of a shared service with the shipped models and default settings, which may also
 * download from this machine. For tests that neither stop the service nor read other customers' data.
 */
export async function sharedService(): Promise<SharedService> {
  running ??= start();
  const { service, operatorPort } = await running;
  const { url, dataDir } = service;
  const pepper = await readFile(join(dataDir, "key-pepper"), "utf8");
  return await withDatabase(dataDir, async (sql) => {
    const { id: organizationId } = await new Organizations(sql).create("customer");
    const { rawKey } = await new ApiKeys(sql, pepper.trim()).create({ organizationId, name: "test" });
    return { url, dataDir, key: rawKey, organizationId, operatorUrl: `http://127.0.0.1:${operatorPort}` };
  });
}

/** Charges a customer without any work, as another service with the same database would. */
export async function charge({ dataDir, organizationId }: SharedService, credits: number): Promise<void> {
  await withDatabase(dataDir, async (sql) => {
    const changes = new HoldChanges(sql);
    const hold = { id: `spent_${organizationId}`, organizationId };
    const price = {
      quantity: { units: credits, unitsPerSecond: 1 },
      tariff: { credits: 1, perUnits: 1 },
    } as const;
    assert.ok(await changes.open({ ...hold, ...price, serviceId: "svc_test", kind: "file" }));
    assert.equal(await changes.post(hold, credits, "settled"), credits);
  });
}

/** Reads the metrics of a shared service, to which all its customers add. */
export async function metricsOf({ operatorUrl }: SharedService): Promise<MetricValues> {
  return await readMetrics(Number(new URL(operatorUrl).port));
}

async function withDatabase<T>(
  dataDir: string,
  use: (sql: ReturnType<typeof connect>) => Promise<T>,
): Promise<T> {
  const sql = connect(JSON.parse(await readFile(join(dataDir, "postgres.json"), "utf8")), SILENT);
  try {
    return await use(sql);
  } finally {
    await sql.end();
  }
}

async function start() {
  const operatorPort = await freePort();
  const settings = { URL_FETCH_ALLOW: "127.0.0.0/8", OPERATOR_PORT: String(operatorPort) };
  return { service: await startServiceProcess(settings), operatorPort };
}
