import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { freePort } from "../../bench/support/free-port.js";
import { DEFAULT_TARIFFS } from "../../core/domain/usage/tariff.js";
import { chooseLauncher } from "../../src/store/postgres/postgres-launcher.js";
import { openStore, type Store } from "../../src/store/store.js";
import { eventually } from "../support/eventually.js";
import { temporaryFolder } from "../support/folders.js";
import { SILENT } from "../support/silent-log.js";

const run = promisify(execFile);
/** Debian's server with its tools. The private one lacks `pg_dump`, which must be as new as the server. */
const BIN = debianPostgres();
const SKIP = BIN === null ? "no PostgreSQL of Debian's is installed (apt-get install postgresql)" : false;
const PEPPER = "a pepper of this test";

function debianPostgres(): string | null {
  const versions = existsSync("/usr/lib/postgresql") ? readdirSync("/usr/lib/postgresql") : [];
  const bins = versions.map((version) => `/usr/lib/postgresql/${version}/bin`);
  const tools = ["initdb", "postgres", "createdb", "pg_dump", "pg_restore"];
  return bins.find((bin) => tools.every((name) => existsSync(join(bin, name)))) ?? null;
}

describe("backup and restore of the ledger, as docs/deployment.md describes", { skip: SKIP }, () => {
  let server: ChildProcess;
  let port: number;
  let folder: string;

  before(async () => {
    folder = await temporaryFolder();
    const cluster = join(folder, "cluster");
    await mkdir(cluster);
    port = await freePort();
    const { prefix } = await chooseLauncher({
      postgresPath: join(BIN!, "postgres"),
      clusterDir: cluster,
      ownerUid: null,
    });
    const command = (name: string, ...args: string[]) => [
      ...prefix,
      join(BIN!, name),
      "-D",
      cluster,
      ...args,
    ];
    const [file, ...args] = command("initdb", "-U", "dauys", "-A", "trust", "--no-sync", "--encoding=UTF8");
    await run(file!, args, { cwd: "/" });
    const options = ["-h", "127.0.0.1", "-p", String(port), "-k", "", "-c", "fsync=off"];
    const [program, ...rest] = command("postgres", ...options);
    server = spawn(program!, rest, { cwd: "/", stdio: "ignore" });
    const isUp = () =>
      tool("pg_isready").then(
        () => true,
        () => false,
      );
    await eventually("the server answers", isUp);
    await tool("createdb", "dauys");
  });
  after(async () => {
    const ended = once(server, "exit");
    server.kill("SIGINT");
    await ended;
  });

  const tool = async (name: string, ...args: string[]) =>
    run(join(BIN!, name), ["-h", "127.0.0.1", "-p", String(port), "-U", "dauys", ...args]);
  const open = async (database: string, keyPepper = PEPPER): Promise<Store> => {
    const databaseUrl = `postgres://dauys@127.0.0.1:${port}/${database}`;
    const config = { dataDir: await temporaryFolder(), databaseUrl, devApiKey: null, keyPepper };
    return openStore(config, SILENT);
  };

  test("a service on the restored copy has the same credits, charges and keys, and settles open holds", async () => {
    const store = await open("dauys");
    const { id: organizationId } = await store.organizations.create("a customer");
    await store.transfers.topUp(organizationId, 50_000, "invoice 1");
    const { rawKey } = await store.apiKeys.create({ organizationId, name: "theirs" });
    const meter = await store.startMeter(DEFAULT_TARIFFS);
    const hold = (id: string) =>
      meter.hold({ id, organizationId }, "synthesis", { units: 1_000, unitsPerSecond: 1 });
    const charged = await hold("request 1");
    await charged.charge();
    await charged.complete();
    await hold("request 2");
    const transfers = await store.transfers.list(organizationId);
    const { balance } = (await store.accounts.find(organizationId))!;
    const dump = join(folder, "dauys.dump");
    await tool("pg_dump", "-Fc", "-f", dump, "dauys");
    // The dump does not contain charges made after it.
    await (await hold("request 3")).charge();
    await store.close();

    await tool("createdb", "dauys_restored");
    await tool("pg_restore", "--no-owner", "--exit-on-error", "-d", "dauys_restored", dump);
    await assert.rejects(open("dauys_restored", "another pepper, 16 long"), /pepper/i);
    const restored = await open("dauys_restored");
    try {
      assert.deepEqual(await restored.transfers.list(organizationId), transfers);
      const before = (await restored.accounts.find(organizationId))!;
      assert.deepEqual([before.balance, before.held], [balance, 400]);
      assert.equal((await restored.keys.find(rawKey))?.organizationId, organizationId);
      assert.equal(await restored.keys.find(`sk-svc-${"0".repeat(48)}`), null);
      // The service that made the holds sends no heartbeats, so this service's sweep settles them.
      await restored.startMeter(DEFAULT_TARIFFS, { silentMs: 300, heartbeatMs: 100 });
      const isSettled = async () => (await restored.accounts.find(organizationId))!.held === 0;
      await eventually("the open hold is settled", isSettled);
      assert.equal((await restored.accounts.find(organizationId))!.balance, balance);
    } finally {
      await restored.close();
    }
  });
});
