import { createHmac, randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Sql } from "postgres";
import type { Tariffs } from "../../core/domain/usage/tariff.js";
import type { Log } from "../../core/observe/log.js";
import type { AccountReports } from "../../core/ports/account-reports.js";
import { type Clock, type SharedClock, systemClock } from "../../core/ports/clock.js";
import type { ConsoleStore, SessionPlaces } from "../../core/ports/console-store.js";
import type { Idempotency } from "../../core/ports/idempotency.js";
import type { KeyStore } from "../../core/ports/key-store.js";
import type { TokenUses } from "../../core/ports/token-uses.js";
import type { VocabularyStore } from "../../core/ports/vocabulary-store.js";
import type { Config } from "../settings/settings.js";
import { ApiKeys } from "./accounts/api-keys.js";
import { PostgresAttempts } from "./accounts/attempts.js";
import { makeConsoleStore } from "./accounts/console-store.js";
import { KeyCache } from "./accounts/key-cache.js";
import { deriveSecret } from "./accounts/key-secret.js";
import { LowBalances } from "./accounts/low-balances.js";
import { Organizations } from "./accounts/organizations.js";
import { PostgresPasswordResets } from "./accounts/password-resets.js";
import { accountReports, PostgresReports } from "./accounts/reports.js";
import { UsedTokens } from "./accounts/used-tokens.js";
import { sessionPlaces } from "./accounts/users.js";
import { PostgresVocabularies } from "./accounts/vocabularies.js";
import { ensureDevelopmentKey } from "./development-key.js";
import { AudioReader } from "./jobs/audio-reader.js";
import { type JobLimits, openJobs, type StoredJobs } from "./jobs/open-jobs.js";
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
import { type Database, openDatabase } from "./open-database.js";
import { connect, untilReachable } from "./postgres/connect.js";
import { DatabaseClock } from "./postgres/database-clock.js";
import type { LockPurpose } from "./postgres/folder-lock.js";
import { migrate } from "./postgres/migrate.js";
import { requirePatchedDriver } from "./postgres/patched-driver.js";
import { queueSchemaOf } from "./postgres/queue-schema.js";
import { readIfPresent, rememberedSecret, writeSecret } from "./postgres/secret-files.js";
import { succeedsWithin } from "./postgres/within.js";

export type StoreConfig = Pick<Config, "dataDir" | "databaseUrl" | "devApiKey" | "keyPepper">;

export interface StoreOptions {
  /** A service owns the data folder. A command joins the running service, or owns the folder briefly. */
  readonly purpose?: LockPurpose;
  readonly clock?: Clock;
}

/** File in the data folder with the ID of the service that runs there, or ran last. */
const SERVICE_ID_FILE = "service-id";
/** File in the data folder with that service's recent deliveries and accepted audio. */
const JOURNAL_FILE = "usage-journal";
const REACHABLE_WITHIN_MS = 15_000;
const CLOSE_WITHIN_S = 3;
/** If the database takes longer than this to respond, health checks report that it cannot serve clients. */
const ANSWERS_WITHIN_MS = 2_000;

/**
 * Connects to the configured database, or to a private one that it starts, and migrates the schema.
 *
 * @throws {FolderInUse} if another service uses the data folder
 * @throws {Error} if there is no database, or its keys were created with another pepper
 */
export async function openStore(config: StoreConfig, log: Log, options: StoreOptions = {}): Promise<Store> {
  requirePatchedDriver();
  const database = await openDatabase(config, log, options.purpose ?? "service");
  const sql = connect(database.target, log);
  try {
    await untilReachable(sql, REACHABLE_WITHIN_MS);
    const ran = await migrate(sql, MIGRATIONS);
    if (ran > 0) log.info({ ran }, "database schema migrated");
    const pepper = config.keyPepper ?? (await rememberedPepper(sql, config.dataDir));
    await checkPepper(sql, pepper);
    const clock = options.clock ?? systemClock;
    const databaseClock = new DatabaseClock(sql, clock);
    await databaseClock.sync();
    const queueSchema = await queueSchemaOf(sql);
    return new Store({ config, log, sql, pepper, database, clock, databaseClock, queueSchema });
  } catch (error) {
    await sql.end({ timeout: CLOSE_WITHIN_S });
    await database.release();
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
  readonly databaseClock: DatabaseClock;
  readonly queueSchema: string;
}

/** Gives access to everything that is stored. */
export class Store {
  readonly organizations: Organizations;
  readonly apiKeys: ApiKeys;
  readonly keys: KeyStore;
  readonly accounts: Accounts;
  readonly transfers: Transfers;
  readonly holds: Holds;
  readonly changes: HoldChanges;
  readonly vouchers: Vouchers;
  readonly passwordResets: PostgresPasswordResets;
  readonly lowBalances: LowBalances;
  readonly console: ConsoleStore;
  readonly accountReports: AccountReports;
  readonly places: SessionPlaces;
  readonly tokenUses: TokenUses;
  readonly vocabularies: VocabularyStore;
  /** The database's clock. */
  readonly sharedClock: SharedClock;
  /** Settles with the reason if the private database is given up after too many crashes. */
  readonly lost: Promise<Error>;
  readonly #parts: StoreParts;
  readonly #attempts: PostgresAttempts;
  readonly #usedTokens: UsedTokens;
  readonly #idempotencyKeys: IdempotencyKeys;
  readonly #jobAudio: AudioReader;
  #meter: PostgresUsageMeter | null = null;
  #idempotency: PostgresIdempotency | null = null;
  #closing: Promise<void> | null = null;

  constructor(parts: StoreParts) {
    const { log, sql, pepper, clock, databaseClock } = parts;
    this.#parts = parts;
    this.sharedClock = databaseClock;
    this.lost = parts.database.lost;
    this.organizations = new Organizations(sql);
    const apiKeys = new ApiKeys(sql, pepper);
    this.apiKeys = apiKeys;
    this.keys = new KeyCache({
      findActive: (hash) => apiKeys.findActive(hash),
      touch: (keyId) => apiKeys.touch(keyId),
      pepper,
      clock,
      log,
    });
    this.accounts = new Accounts(sql);
    this.transfers = new Transfers(sql);
    this.holds = new Holds(sql);
    this.changes = new HoldChanges(sql);
    this.vouchers = new Vouchers(sql, pepper);
    this.passwordResets = new PostgresPasswordResets(sql);
    this.lowBalances = new LowBalances(sql);
    this.#attempts = new PostgresAttempts({
      sql,
      secret: deriveSecret(pepper, "attempts"),
      clock: databaseClock,
    });
    const reports = new PostgresReports(sql);
    this.console = makeConsoleStore(sql, { apiKeys, reports, attempts: this.#attempts });
    this.accountReports = accountReports(reports, apiKeys);
    this.places = sessionPlaces(this.console.users, log);
    this.#usedTokens = new UsedTokens(sql, log);
    this.tokenUses = this.#usedTokens;
    this.vocabularies = new PostgresVocabularies(sql);
    this.#idempotencyKeys = new IdempotencyKeys(sql);
    this.#jobAudio = new AudioReader(parts.database.target);
  }

  /** Derives a secret for one purpose. It is the same on all services with this pepper. */
  secretFor(purpose: string): Uint8Array {
    return deriveSecret(this.#parts.pepper, purpose);
  }

  /** Starts metering, and settles a predecessor's open work. May be called once; `close` ends it. */
  async startMeter(tariffs: Tariffs, rules: Partial<MeterRules> = {}): Promise<PostgresUsageMeter> {
    const { config, log, sql, clock } = this.#parts;
    await mkdir(config.dataDir, { recursive: true });
    const { journal, left } = HoldJournal.open(join(config.dataDir, JOURNAL_FILE), log);
    const { accounts, holds, changes } = this;
    const meter = new PostgresUsageMeter(
      {
        ...{ accounts, holds, changes, tariffs, journal, clock, log, rules },
        idempotencyKeys: this.#idempotencyKeys,
        instances: new ServiceInstances(sql),
        upkeep: () => this.#upkeep(),
      },
      newServiceId(),
    );
    this.#meter = meter;
    // Two services never share a data folder, so the service that wrote this file has ended.
    const path = join(config.dataDir, SERVICE_ID_FILE);
    await meter.start(await readIfPresent(path), left);
    await writeSecret(path, meter.serviceId);
    return meter;
  }

  /** Starts idempotency keys for the service whose meter was started. May be called once; `close` ends it. */
  startIdempotency(serviceId: string): Idempotency {
    this.#idempotency = new PostgresIdempotency(this.#idempotencyKeys, serviceId, this.#parts.log);
    return this.#idempotency;
  }

  /**
   * Opens jobs for the service whose meter was started. @param onQueued called for each job that it queues
   */
  openJobs(serviceId: string, limits: JobLimits, onQueued: () => void): StoredJobs {
    const { sql, log, queueSchema } = this.#parts;
    const derive = (purpose: string) => this.secretFor(purpose);
    const audio = this.#jobAudio;
    return openJobs({ sql, audio, queueSchema, serviceId, limits, derive, log, onQueued });
  }

  /** Lists the organizations with responses on disk, by the ID of the request that produced each response. */
  ownersOfLongAnswers(): Promise<ReadonlyMap<string, string>> {
    return this.#idempotencyKeys.ownersOfLongAnswers();
  }

  /** Returns whether the database answers now. */
  isReachable(): Promise<boolean> {
    return succeedsWithin(ANSWERS_WITHIN_MS, untilReachable(this.#parts.sql, 0));
  }

  /** Returns whether the database accepts writes; without a meter, the same as `isReachable`. */
  canServe(): Promise<boolean> {
    return this.#meter?.canWrite(ANSWERS_WITHIN_MS) ?? this.isReachable();
  }

  /**
   * Ensures that there is a key for trying the service, and returns it: `DEV_API_KEY`, or the one in
   * `dataDir/dev-key`. Services that share `KEY_PEPPER` and a database derive the same key.
   */
  developmentKey(): Promise<string> {
    return ensureDevelopmentKey(this.#parts.config, this);
  }

  /** Closes connections and stops the private server. May be called twice. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#idempotency?.close();
    await this.#meter?.close();
    await this.#jobAudio.stop();
    await this.#parts.sql.end({ timeout: CLOSE_WITHIN_S });
    await this.#parts.database.release();
  }

  async #upkeep(): Promise<void> {
    await this.#parts.databaseClock.sync();
    await this.#usedTokens.removeExpired();
    await this.#attempts.removeExpired();
    const forgotten = (await this.#idempotency?.endForgotten()) ?? 0;
    if (forgotten > 0)
      this.#parts.log.error({ forgotten }, "the database has lost the ends of some idempotent requests");
  }
}

/**
 * Reads or creates the data folder's pepper. Never creates one for a database that already has keys, since
 * they would no longer match.
 */
async function rememberedPepper(sql: Sql, dataDir: string): Promise<string> {
  const path = join(dataDir, "key-pepper");
  const known = await readIfPresent(path);
  if (known !== null) return known;
  const rows = await sql`select from settings where name = 'key_pepper_proof'`;
  if (rows.length > 0) throw wrongPepper();
  return await rememberedSecret(path, () => randomBytes(32).toString("hex"));
}

/** Rejects a pepper other than the database's, because every key would be unknown. */
async function checkPepper(sql: Sql, pepper: string): Promise<void> {
  const proof = createHmac("sha256", pepper).update("dauys key pepper").digest("hex");
  await sql`insert into settings (name, value) values ('key_pepper_proof', ${proof}) on conflict (name) do nothing`;
  const [row] = await sql<{ value: string }[]>`select value from settings where name = 'key_pepper_proof'`;
  if (row?.value !== proof) throw wrongPepper();
}

function wrongPepper(): Error {
  return new Error(
    "cannot use this database: its keys were created with another pepper; set KEY_PEPPER to that of the other services, " +
      "or restore the file key-pepper in the data folder from when the database was created",
  );
}
