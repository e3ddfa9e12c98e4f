import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile, stat, writeFile } from "node:fs/promises";
import { createServer, type Socket, connect as tcpConnect } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ServiceError } from "../../core/domain/errors.js";
import type { CreatedApiKey } from "../../src/store/accounts/api-keys.js";
import { newRawKey } from "../../src/store/accounts/key-secret.js";
import { MIGRATIONS } from "../../src/store/migrations/all.js";
import { connect } from "../../src/store/postgres/connect.js";
import { EmbeddedPostgres } from "../../src/store/postgres/embedded-postgres.js";
import { migrate } from "../../src/store/postgres/migrate.js";
import { openStore, type Store } from "../../src/store/store.js";
import { eventually } from "../support/eventually.js";
import { temporaryFolder } from "../support/folders.js";
import { ManualClock } from "../support/manual-clock.js";
import { within } from "../support/pace.js";
import { preparedFolder } from "../support/prepared-database.js";
import { SILENT } from "../support/silent-log.js";
import { privateStore } from "./support.js";

const PEPPER = "a pepper for all tests";
let server: EmbeddedPostgres;
let databaseCount = 0;

before(async () => {
  server = await EmbeddedPostgres.start({
    dataDir: await preparedFolder(),
    purpose: "service",
    log: SILENT,
  });
});
after(() => server.stop());

test("a key works from its creation to its revocation", async (t) => {
  const databaseUrl = await newDatabase();
  const clock = new ManualClock();
  const store = await openOn(databaseUrl, { clock });
  t.after(() => store.close());
  const organization = await store.organizations.create("Аян");
  assert.match(organization.id, /^org_[0-9a-f]{24}$/);
  const { rawKey, ...created } = await store.apiKeys.create({
    organizationId: organization.id,
    name: "first",
  });
  assert.match(rawKey, /^sk-svc-[0-9a-f]{48}$/);
  assert.match(created.id, /^key_[0-9a-f]{24}$/);

  await t.test("only a hash of the key is stored", async () => {
    const sql = connect(databaseUrl, SILENT);
    const [row] = await sql<{ text: string }[]>`select row_to_json(api_keys)::text as text from api_keys`;
    const [{ length } = { length: 0 }] = await sql<{ length: number }[]>`select length(hash) from api_keys`;
    await sql.end();
    assert.equal(length, 32);
    const digits = rawKey.slice("sk-svc-".length);
    assert.ok(!row!.text.includes(digits.slice(8, 40)), row!.text);
    assert.equal(created.prefix + created.lastFour, rawKey.slice(0, 11) + rawKey.slice(-4));
  });

  await t.test("the key is found, and its use is recorded", async () => {
    const owner = { keyId: created.id, organizationId: organization.id, tier: "free" };
    assert.deepEqual(await store.keys.find(rawKey), owner);
    assert.equal(await store.keys.find(newRawKey()), null);
    await eventually("last use", async () => (await store.apiKeys.list())[0]?.lastUsedAt != null);
  });

  await t.test("a revocation is final and takes effect within 30 s", async () => {
    const revoked = await store.apiKeys.revoke(created.id);
    assert.ok(revoked?.revokedAt instanceof Date);
    assert.deepEqual((await store.apiKeys.revoke(created.id))?.revokedAt, revoked.revokedAt);
    assert.equal((await store.keys.find(rawKey))?.keyId, created.id);
    clock.advance(30_000);
    assert.equal(await store.keys.find(rawKey), null);
    assert.equal(await store.apiKeys.revoke("key_unknown"), null);
  });

  await t.test("keys are listed by organization", async () => {
    const other = await store.organizations.create("other");
    const second = await store.apiKeys.create({ organizationId: other.id, name: "second" });
    assert.deepEqual(
      (await store.apiKeys.list()).map((key) => key.id),
      [created.id, second.id],
    );
    assert.deepEqual(
      (await store.apiKeys.list(other.id)).map((key) => key.name),
      ["second"],
    );
  });
});

test("an organization counts as paid within 30 s of its first payment", async (t) => {
  const clock = new ManualClock();
  const store = await openOn(await newDatabase(), { clock });
  t.after(() => store.close());
  const [payer, other] = await Promise.all([newOwner(store), newOwner(store)]);
  const tierOf = async (key: string) => (await store.keys.find(key))?.tier;
  assert.equal(await tierOf(payer.rawKey), "free");
  await store.transfers.topUp(payer.organizationId, 1, "first payment");
  assert.equal(await tierOf(payer.rawKey), "free", "as it was looked up");
  clock.advance(30_000);
  assert.deepEqual([await tierOf(payer.rawKey), await tierOf(other.rawKey)], ["paid", "free"]);
});

async function newOwner(store: Store): Promise<CreatedApiKey> {
  const { id } = await store.organizations.create("org");
  return await store.apiKeys.create({ organizationId: id, name: "key" });
}

test("cached keys work without the database until the service recovers", async (t) => {
  const url = new URL(await newDatabase());
  const gate = await openGate(Number(url.port));
  url.port = String(gate.port);
  const clock = new ManualClock();
  const store = await openOn(url.href, { clock });
  t.after(async () => {
    await store.close();
    await gate.close();
  });
  const { id } = await store.organizations.create("org");
  const { rawKey } = await store.apiKeys.create({ organizationId: id, name: "key" });
  assert.ok(await store.keys.find(rawKey));

  await gate.close();
  assert.equal(await store.isReachable(), false);
  assert.ok(await store.keys.find(rawKey));
  await assert.rejects(store.keys.find(newRawKey()), isUnavailable);
  clock.advance(30_000);
  await assert.rejects(store.keys.find(rawKey), isUnavailable);

  await gate.open();
  await eventually("reachable again", () => store.isReachable());
  assert.ok(await store.keys.find(rawKey));
});

test("services that start together on an empty database migrate it once", async () => {
  const databaseUrl = await newDatabase();
  const stores = await Promise.all(Array.from({ length: 4 }, () => openOn(databaseUrl)));
  const sql = connect(databaseUrl, SILENT);
  const rows = await sql<{ version: number }[]>`select version from schema_migrations order by version`;
  assert.deepEqual(
    rows.map((row) => row.version),
    MIGRATIONS.map((migration) => migration.version),
  );
  assert.equal(await migrate(sql, MIGRATIONS), 0);
  await Promise.all([sql.end(), ...stores.map((store) => store.close())]);
});

test("a failed migration leaves nothing behind", async () => {
  const sql = connect(await newDatabase(), SILENT);
  const broken = {
    version: MIGRATIONS.length + 1,
    name: "broken",
    sql: "create table half (x int); select 1/0;",
  };
  await assert.rejects(migrate(sql, [...MIGRATIONS, broken]), /division by zero/);
  const tables = await sql`select 1 from information_schema.tables where table_schema = current_schema()`;
  assert.equal(tables.length, 0);
  assert.equal(await migrate(sql, MIGRATIONS), MIGRATIONS.length);
  await sql.end();
});

test("migrations are numbered from one without gaps", () => {
  assert.deepEqual(
    MIGRATIONS.map((migration) => migration.version),
    MIGRATIONS.map((_, index) => index + 1),
  );
});

test("a database of a newer version is rejected", async () => {
  const databaseUrl = await newDatabase();
  const sql = connect(databaseUrl, SILENT);
  await migrate(sql, [...MIGRATIONS, { version: MIGRATIONS.length + 1, name: "future", sql: "select 1" }]);
  await sql.end();
  await assert.rejects(
    openOn(databaseUrl),
    /its schema is at migration \d+, this version of the service knows up to/,
  );
});

test("a database with keys hashed with another pepper is rejected", async () => {
  const databaseUrl = await newDatabase();
  await (await openOn(databaseUrl)).close();
  const dataDir = await temporaryFolder();
  await assert.rejects(
    openStore(privateStore(dataDir, { databaseUrl }), SILENT),
    /another pepper.*KEY_PEPPER/,
  );
  await assert.rejects(stat(join(dataDir, "key-pepper")), /ENOENT/, "no pepper is made that cannot be right");
});

test("a wrong database password is reported immediately", async () => {
  const url = new URL(await newDatabase());
  url.password = "wrong";
  const refused = assert.rejects(
    openOn(url.href),
    /Cannot reach the database: password authentication failed/,
  );
  await within(25_000, "the refusal", refused);
});

test("the development key", async (t) => {
  const databaseUrl = await newDatabase();
  const dataDir = await temporaryFolder();
  const open = (devApiKey: string | null) =>
    openStore(privateStore(dataDir, { databaseUrl, devApiKey, keyPepper: PEPPER }), SILENT);

  await t.test("is created once, in a file that only its owner can read", async () => {
    const store = await open(null);
    const [first, again] = await Promise.all([store.developmentKey(), store.developmentKey()]);
    assert.equal(first, again);
    assert.equal((await store.keys.find(first))?.organizationId, "org_development");
    await store.close();
    const path = join(dataDir, "dev-key");
    assert.equal((await readFile(path, "utf8")).trim(), first);
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    const later = await open(null);
    assert.equal(await later.developmentKey(), first);
    assert.equal((await later.apiKeys.list()).length, 1);
    await later.close();
  });

  await t.test("is replaced if it was revoked or its file contains something else", async () => {
    const store = await open(null);
    const first = await store.developmentKey();
    await store.apiKeys.revoke((await store.apiKeys.list())[0]!.id);
    await store.close();
    const later = await open(null);
    const second = await later.developmentKey();
    assert.notEqual(second, first);
    await writeFile(join(dataDir, "dev-key"), "something else\n");
    assert.equal(await later.developmentKey(), second);
    assert.ok(await later.keys.find(second));
    await later.close();
  });

  await t.test(
    "is the same for services that share a database and a pepper, even after a revocation",
    async () => {
      const shared = await newDatabase();
      const services = async () =>
        Promise.all(
          [await temporaryFolder(), await temporaryFolder()].map((folder) =>
            openStore(privateStore(folder, { databaseUrl: shared, keyPepper: PEPPER }), SILENT),
          ),
        );
      const keys = new Set<string>();
      for (let round = 0; round < 2; round++) {
        const [one, other] = (await services()) as [Store, Store];
        const [here, there] = await Promise.all([one.developmentKey(), other.developmentKey()]);
        assert.equal(here, there);
        keys.add(here);
        const active = (await one.apiKeys.list()).filter(({ revokedAt }) => revokedAt === null);
        assert.equal(active.length, 1);
        await one.apiKeys.revoke(active[0]!.id);
        await Promise.all([one.close(), other.close()]);
      }
      assert.equal(keys.size, 2);
    },
  );

  await t.test("is DEV_API_KEY if that is set", async () => {
    const wanted = newRawKey();
    const store = await open(wanted);
    assert.equal(await store.developmentKey(), wanted);
    assert.equal((await store.keys.find(wanted))?.organizationId, "org_development");
    await store.close();
  });
});

test("one query finds the ended ones among 70,000 keys and sessions", async (t) => {
  const store = await openOn(await newDatabase());
  t.after(() => store.close());
  const { id: organizationId } = await store.organizations.create("many");
  const ended = await store.apiKeys.create({ organizationId, name: "ended" });
  const active = await store.apiKeys.create({ organizationId, name: "active" });
  await store.apiKeys.revoke(ended.id);
  const others = Array.from({ length: 70_000 }, (_, nth) => `key_${nth}`);
  const found = await store.apiKeys.endedAmong([active.id, ...others, ended.id]);
  assert.deepEqual(
    found.map(({ id }) => id),
    [ended.id],
  );
  const places = others.map((name) => ({ session: Buffer.from(name), organizationId }));
  assert.deepEqual(await store.console.users.goodPlaces(places), []);
});

/** Creates an empty schema, which is cheaper than a database, and returns its URL. */
async function newDatabase(): Promise<string> {
  const { host, port, user, password, database } = server.connection;
  const sql = connect(server.connection, SILENT);
  const name = `test_${++databaseCount}`;
  await sql`create schema ${sql(name)}`;
  await sql.end();
  return `postgres://${user}:${password}@${host}:${port}/${database}?search_path=${name}`;
}

async function openOn(databaseUrl: string, options: { clock?: ManualClock } = {}): Promise<Store> {
  return await openStore(
    privateStore(await temporaryFolder(), { databaseUrl, keyPepper: PEPPER }),
    SILENT,
    options,
  );
}

/** Opens a port in front of the server. It can be closed together with every connection through it. */
async function openGate(targetPort: number) {
  const sockets = new Set<Socket>();
  const gate = createServer((client) => {
    const target = tcpConnect(targetPort, "127.0.0.1");
    client.pipe(target).pipe(client);
    for (const socket of [client, target]) {
      sockets.add(socket.on("error", () => {}));
    }
  });
  const listen = async (port: number) => {
    gate.listen(port, "127.0.0.1");
    await once(gate, "listening");
    return (gate.address() as { port: number }).port;
  };
  const port = await listen(0);
  return {
    port,
    open: async () => {
      await listen(port);
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      if (!gate.listening) return;
      gate.close();
      await once(gate, "close");
    },
  };
}

function isUnavailable(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "AUTH_UNAVAILABLE";
}
