import { createHmac, randomBytes } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Sql } from "postgres";
import type { Tariffs } from "../../core/domain/usage/tariff.js";
import type { Log } from "../../core/observe/log.js";
import type { AccountReports } from "../../core/ports/account-reports.js";
import { type Clock, type SharedClock, systemClock } from "../../core/ports/clock.js";
import type { ConsoleStore, SessionPlaces } from "../../core/ports/console-store.js";
import type { Idempotency } from "../../core/ports/idempotency.js";
import type { KeyStore } from "../../core/ports/key-store.js";
import type { TokenUses } from "../../core/ports/token-uses.js";
import type { Config } from "../settings/settings.js";
import { PostgresAccountReports } from "./accounts/account-reports.js";
import { ApiKeys } from "./accounts/api-keys.js";
import { PostgresAttempts } from "./accounts/attempts.js";
import { makeConsoleStore } from "./accounts/console-store.js";
import { KeyCache } from "./accounts/key-cache.js";
import { isWellFormedKey, newRawKey, secretOf, sharedRawKey } from "./accounts/key-secret.js";
import { Organizations } from "./accounts/organizations.js";
import { PostgresPasswordResets } from "./accounts/password-resets.js";
import { PostgresReports } from "./accounts/reports.js";
import { PostgresSessionPlaces } from "./accounts/session-places.js";
import { UsedTokens } from "./accounts/used-tokens.js";
import { Accounts } from "./ledger/accounts.js";
import { HoldChanges } from "./ledger/hold-changes.js";
import { HoldJournal } from "./ledger/hold-journal.js";
import { Holds } from "./ledger/holds.js";
import { IdempotencyKeys } from "./ledger/idempotency-keys.js";
import { PostgresIdempotency } from "./ledger/postgres-idempotency.js";
import { ServiceInstances } from "./ledger/service-instances.js";
import { Transfers } from "./ledger/transfers.js";
import { type MeterRules, newServiceId, PostgresUsageMeter } from "./ledger/usage-meter.js";
import { Vouchers } from "./ledger/vouchers.js";
import { MIGRATIONS } from "./migrations/all.js";
import { connect, untilReachable } from "./postgres/connect.js";
import { DatabaseClock } from "./postgres/database-clock.js";
import { CONNECTION_FILE, EmbeddedPostgres, type PostgresConnection } from "./postgres/embedded-postgres.js";
import { FolderInUse, type LockPurpose, lockFolder } from "./postgres/folder-lock.js";
import { requireMendedDriver } from "./postgres/mended-driver.js";
import { migrate } from "./postgres/migrate.js";
import { readIfPresent, rememberedSecret, writeSecret } from "./postgres/secret-files.js";
import { within } from "./postgres/within.js";

export type StoreConfig = Pick<Config, "dataDir" | "databaseUrl" | "devApiKey" | "keyPepper">;

export interface StoreOptions {
  /** A service owns the data folder; a command joins the service that runs there, or stands in for it for a moment. */
  readonly purpose?: LockPurpose;
  readonly clock?: Clock;
}

/** Everything that is remembered: the only door to the database. */
export interface Store {
  readonly keys: KeyStore;
  readonly organizations: Organizations;
  readonly apiKeys: ApiKeys;
  readonly accounts: Accounts;
  readonly transfers: Transfers;
  readonly holds: Holds;
  readonly changes: HoldChanges;
  readonly vouchers: Vouchers;
  readonly passwordResets: PostgresPasswordResets;
  readonly console: ConsoleStore;
  readonly accountReports: AccountReports;
  readonly places: SessionPlaces;
  readonly tokenUses: TokenUses;
  /** The database's clock. */
  readonly sharedClock: SharedClock;
  /** A secret that services with the same pepper share, another one for each purpose. */
  secretFor(purpose: string): Uint8Array;
  /**
   * Starts metering for a running service, and settles what an earlier one left behind. May be called once; `close`
   * ends it.
   */
  startMeter(tariffs: Tariffs, rules?: Partial<MeterRules>): Promise<PostgresUsageMeter>;
  /** Idempotency keys for the running service whose meter was started. May be called once; `close` ends it. */
  startIdempotency(serviceId: string): Idempotency;
  /** Organizations of kept answers that lie on disk, by the ids of the requests that made them. */
  ownersOfLongAnswers(): Promise<ReadonlyMap<string, string>>;
  /** Settles with the reason when the private database has died too often and is given up. */
  readonly lost: Promise<Error>;
  /** Whether the database answers now. */
  isReachable(): Promise<boolean>;
  /** Whether the database takes what serving writes; while a meter runs, else as `isReachable`. */
  canServe(): Promise<boolean>;
  /**
   * Ensures a key to try the service with; the raw key is `DEV_API_KEY`, or else the one in `dataDir/dev-key`. Services with one
   * `KEY_PEPPER` on one database make the same.
   */
  developmentKey(): Promise<string>;
  /** Ends connections and the private server. May be called twice. */
  close(): Promise<void>;
}

/** The file in the data folder that holds the id of the service that works there, or did. */
const SERVICE_ID_FILE = "service-id";

/** The file in the data folder that says what the service there has delivered and accepted lately. */
const JOURNAL_FILE = "usage-journal";

/** The file in the data folder that holds the raw development key. */
export const DEVELOPMENT_KEY_FILE = "dev-key";

const DEVELOPMENT_ORGANIZATION = "org_development";
const REACHABLE_WITHIN_MS = 15_000;
const JOIN_WITHIN_MS = 30_000;
const JOIN_POLL_MS = 200;
const CLOSE_WITHIN_S = 3;
/** Orchestrators ask again; a database that takes longer serves nobody. */
const ANSWERS_WITHIN_MS = 2_000;

interface Database {
  readonly target: PostgresConnection | string;
  /** Null when the server belongs to somebody else. */
  readonly server: EmbeddedPostgres | null;
  release(): Promise<void>;
}

/**
 * Connects to the configured database, or to a private one that it starts, and brings the schema up to date.
 *
 * @throws {FolderInUse} when another service works in the data folder
 * @throws {Error} when there is no database, or its keys were made with another pepper
 */
export async function openStore(config: StoreConfig, log: Log, options: StoreOptions = {}): Promise<Store> {
  requireMendedDriver();
  const database = await openDatabase(config, log, options.purpose ?? "service");
  const sql = connect(database.target, log);
  let meter: PostgresUsageMeter | null = null;
  let idempotency: PostgresIdempotency | null = null;
  const close = once(async () => {
    await idempotency?.close();
    await meter?.close();
    await sql.end({ timeout: CLOSE_WITHIN_S });
    await database.release();
  });
  try {
    await untilReachable(sql, REACHABLE_WITHIN_MS);
    const ran = await migrate(sql, MIGRATIONS);
    if (ran > 0) log.info({ ran }, "database schema brought up to date");
    const pepper = config.keyPepper ?? (await rememberedPepper(sql, config.dataDir));
    await checkPepper(sql, pepper);
    const clock = options.clock ?? systemClock;
    const sharedClock = new DatabaseClock(sql, clock);
    await sharedClock.look();
    const onMeter = (started: PostgresUsageMeter) => {
      meter = started;
    };
    const onIdempotency = (started: PostgresIdempotency) => {
      idempotency = started;
    };
    return assemble({
      config,
      log,
      sql,
      pepper,
      database,
      close,
      onMeter,
      onIdempotency,
      clock,
      sharedClock,
    });
  } catch (error) {
    await close();
    throw error;
  }
}

interface StoreParts {
  readonly config: StoreConfig;
  readonly log: Log;
  readonly sql: Sql;
  readonly pepper: string;
  readonly database: Database;
  readonly clock: Clock;
  readonly sharedClock: DatabaseClock;
  readonly close: () => Promise<void>;
  readonly onMeter: (meter: PostgresUsageMeter) => void;
  readonly onIdempotency: (idempotency: PostgresIdempotency) => void;
}

function assemble(parts: StoreParts): Store {
  const { config, log, sql, pepper, database, clock, sharedClock, close, onMeter, onIdempotency } = parts;
  const organizations = new Organizations(sql);
  const apiKeys = new ApiKeys(sql, pepper);
  const accounts = new Accounts(sql);
  const holds = new Holds(sql);
  const changes = new HoldChanges(sql);
  const idempotencyKeys = new IdempotencyKeys(sql);
  const reports = new PostgresReports(sql);
  const attempts = new PostgresAttempts({ sql, secret: secretOf(pepper, "attempts"), clock: sharedClock });
  const consoleStore = makeConsoleStore(sql, { apiKeys, reports, attempts });
  const usedTokens = new UsedTokens(sql, log);
  const upkeep = async () => {
    await sharedClock.look();
    await usedTokens.removeExpired();
    await attempts.removeExpired();
    const forgotten = (await idempotency?.endForgotten()) ?? 0;
    if (forgotten > 0) log.error({ forgotten }, "the database has forgotten how requests under keys ended");
  };
  let idempotency: PostgresIdempotency | null = null;
  let meter: PostgresUsageMeter | null = null;
  const isReachable = () =>
    within(ANSWERS_WITHIN_MS, untilReachable(sql, 0)).then(
      () => true,
      () => false,
    );
  const keys = new KeyCache({
    findActive: (hash) => apiKeys.findActive(hash),
    touch: (keyId) => apiKeys.touch(keyId),
    pepper,
    clock,
    log,
  });
  return {
    keys,
    organizations,
    apiKeys,
    accounts,
    transfers: new Transfers(sql),
    holds,
    changes,
    vouchers: new Vouchers(sql, pepper),
    passwordResets: new PostgresPasswordResets(sql),
    console: consoleStore,
    places: new PostgresSessionPlaces(consoleStore.users, log),
    accountReports: new PostgresAccountReports(reports),
    tokenUses: usedTokens,
    sharedClock,
    secretFor: (purpose) => secretOf(pepper, purpose),
    startMeter: async (tariffs, rules = {}) => {
      const instances = new ServiceInstances(sql);
      await mkdir(config.dataDir, { recursive: true });
      const { journal, left } = HoldJournal.open(join(config.dataDir, JOURNAL_FILE), log);
      meter = new PostgresUsageMeter(
        { accounts, holds, changes, idempotencyKeys, instances, tariffs, journal, upkeep, clock, log, rules },
        newServiceId(),
      );
      onMeter(meter);
      // Two services never share a data folder: the one that wrote this file is gone.
      const path = join(config.dataDir, SERVICE_ID_FILE);
      await meter.start(await readIfPresent(path), left);
      await writeSecret(path, meter.serviceId);
      return meter;
    },
    startIdempotency: (serviceId) => {
      idempotency = new PostgresIdempotency(idempotencyKeys, serviceId, log);
      onIdempotency(idempotency);
      return idempotency;
    },
    ownersOfLongAnswers: () => idempotencyKeys.ownersOfLongAnswers(),
    lost: database.server?.lost ?? new Promise(() => {}),
    isReachable,
    canServe: () => meter?.canWrite(ANSWERS_WITHIN_MS) ?? isReachable(),
    developmentKey: () => ensureDevelopmentKey(config, { organizations, apiKeys, keys }),
    close,
  };
}

async function openDatabase(config: StoreConfig, log: Log, purpose: LockPurpose): Promise<Database> {
  if (config.databaseUrl !== null) return await openExternal(config.databaseUrl, config.dataDir, purpose);
  const deadlineMs = performance.now() + JOIN_WITHIN_MS;
  while (true) {
    try {
      const server = await EmbeddedPostgres.start({ dataDir: config.dataDir, purpose, log });
      return { target: server.connection, server, release: () => server.stop() };
    } catch (error) {
      if (!(error instanceof FolderInUse) || performance.now() > deadlineMs) throw error;
      // A command ends soon, so waiting for it is worth it. A service goes on: a command joins it, another service cannot.
      if (error.holder.purpose === "service") {
        if (purpose === "service") throw error;
        const target = await readConnection(config.dataDir);
        if (target !== null) return { target, server: null, release: async () => {} };
      }
      await sleep(JOIN_POLL_MS);
    }
  }
}

/** Services may share a database; the data folder, with its journal and spooled audio, belongs to one. */
async function openExternal(target: string, dataDir: string, purpose: LockPurpose): Promise<Database> {
  if (purpose === "command") return { target, server: null, release: async () => {} };
  const lock = await lockFolder(dataDir, purpose);
  return { target, server: null, release: () => lock.release() };
}

async function readConnection(dataDir: string): Promise<PostgresConnection | null> {
  const text = await readFile(join(dataDir, CONNECTION_FILE), "utf8").catch(() => null);
  return text === null ? null : (JSON.parse(text) as PostgresConnection);
}

/** The pepper of the data folder, made for a database that has none yet: one made beside it could only be wrong. */
async function rememberedPepper(sql: Sql, dataDir: string): Promise<string> {
  const path = join(dataDir, "key-pepper");
  const known = await readIfPresent(path);
  if (known !== null) return known;
  const rows = await sql`select from settings where name = 'key_pepper_proof'`;
  if (rows.length > 0) throw anotherPepper();
  return await rememberedSecret(path, newPepper);
}

/**
 * Key hashes mean nothing under another pepper: every key would be unknown. Better not to start.
 */
async function checkPepper(sql: Sql, pepper: string): Promise<void> {
  const proof = createHmac("sha256", pepper).update("dauys key pepper").digest("hex");
  await sql`insert into settings (name, value) values ('key_pepper_proof', ${proof}) on conflict (name) do nothing`;
  const [row] = await sql<{ value: string }[]>`select value from settings where name = 'key_pepper_proof'`;
  if (row?.value !== proof) throw anotherPepper();
}

function anotherPepper(): Error {
  return new Error(
    "Cannot use this database: its keys were made with another pepper. Set KEY_PEPPER to that of the other services, " +
      "or bring back the file key-pepper of the data folder, as it was when the database was made",
  );
}

async function ensureDevelopmentKey(
  config: StoreConfig,
  store: Pick<Store, "organizations" | "apiKeys" | "keys">,
): Promise<string> {
  await store.organizations.ensure(DEVELOPMENT_ORGANIZATION, "development");
  const wanted = { organizationId: DEVELOPMENT_ORGANIZATION, name: "development" };
  if (config.devApiKey !== null) {
    await store.apiKeys.ensure(wanted, config.devApiKey);
    return config.devApiKey;
  }
  const path = join(config.dataDir, DEVELOPMENT_KEY_FILE);
  const { keyPepper } = config;
  const next = (nth: number) => (keyPepper === null ? newRawKey() : sharedRawKey(keyPepper, nth));
  const remembered = await rememberedSecret(path, () => next(0));
  if (await isTaken(store, wanted, remembered)) return remembered;
  // The remembered key was revoked, or the file holds something else: the next that was not takes its place.
  for (let nth = 0; ; nth++) {
    const rawKey = next(nth);
    if (!(await isTaken(store, wanted, rawKey))) continue;
    await writeSecret(path, rawKey);
    return rawKey;
  }
}

/** Whether a key is one that works, as it is now if it was not known. */
async function isTaken(
  { apiKeys, keys }: Pick<Store, "apiKeys" | "keys">,
  wanted: { readonly organizationId: string; readonly name: string },
  rawKey: string,
): Promise<boolean> {
  if (isWellFormedKey(rawKey)) await apiKeys.ensure(wanted, rawKey);
  return (await keys.find(rawKey)) !== null;
}

function newPepper(): string {
  return randomBytes(32).toString("hex");
}

function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  return () => {
    running ??= work();
    return running;
  };
}
