import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { appendFile, chmod, mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { MIGRATIONS } from "../../src/store/migrations/all.js";
import { connect } from "../../src/store/postgres/connect.js";
import { EmbeddedPostgres } from "../../src/store/postgres/embedded-postgres.js";
import { migrate } from "../../src/store/postgres/migrate.js";
import { findPostgresBinaries } from "../../src/store/postgres/postgres-binaries.js";
import { temporaryFolder } from "./folders.js";
import { SILENT } from "./silent-log.js";

/** The path is relative to the repository's root, in which tests run. */
const PREPARED_FOLDER = "build/test-database";
/** The parts of a private database: its files and its password. */
const PARTS = ["postgres", "postgres-password"];
/**
 * Additional settings. The data must survive killed processes, but not a power loss; on a disk that all tests
 * share, each commit would otherwise wait for every other write.
 */
const SETTINGS = "fsync = off\nfull_page_writes = off\n";
/** Deletes the second template database, which makes up a third of the 1,065 files that each test copies. */
const SLIMMING = [
  "update pg_database set datistemplate = false where datname = 'template0'",
  "drop database template0",
];
/** The module that creates the files. If it changes, they are created again. */
const MAKERS = "dist/src/store/postgres/postgres-cluster.js";

const run = promisify(execFile);

/**
 * Returns a data folder with a migrated private database. Copying one takes 0.1 s, creating one takes 1.3 s
 * of CPU.
 */
export async function preparedFolder(): Promise<string> {
  const folder = await temporaryFolder();
  await prepareDatabase(folder);
  return folder;
}

/** Adds a private database to a data folder that has none, as a service would at its first start. */
export async function prepareDatabase(dataDir: string): Promise<void> {
  if (existsSync(join(dataDir, "postgres"))) return;
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  const prepared = await preparedDatabase();
  const sources = PARTS.map((part) => join(prepared, part));
  await run("cp", ["-a", ...sources, dataDir]);
}

/**
 * Returns the folder to copy from. The first process creates it, and it is kept until the code that makes it
 * changes.
 */
async function preparedDatabase(): Promise<string> {
  const folder = join(PREPARED_FOLDER, await contentKey());
  if (existsSync(folder)) return folder;
  await mkdir(PREPARED_FOLDER, { recursive: true });
  // Two processes may create it at the same time; only one rename succeeds.
  const draft = await mkdtemp(join(PREPARED_FOLDER, "draft-"));
  await chmod(draft, 0o711);
  try {
    await makeDatabase(draft);
    await rename(draft, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return folder;
}

async function makeDatabase(dataDir: string): Promise<void> {
  const server = await EmbeddedPostgres.start({
    dataDir: join(process.cwd(), dataDir),
    purpose: "service",
    log: SILENT,
  });
  try {
    const sql = connect(server.connection, SILENT);
    await migrate(sql, MIGRATIONS);
    for (const statement of SLIMMING) await sql.unsafe(statement);
    await sql.end();
  } finally {
    await server.stop();
  }
  await appendFile(join(dataDir, "postgres/postgresql.conf"), SETTINGS);
  const others = (await readdir(dataDir)).filter((name) => !PARTS.includes(name));
  for (const name of others) await rm(join(dataDir, name), { recursive: true });
}

async function contentKey(): Promise<string> {
  const binaries = await findPostgresBinaries();
  const makers = [
    await readFile(MAKERS),
    binaries.postgres,
    String(process.getuid?.()),
    JSON.stringify(MIGRATIONS),
    SETTINGS,
    ...SLIMMING,
  ];
  const hash = createHash("sha256");
  for (const maker of makers) hash.update(maker);
  return hash.digest("hex").slice(0, 16);
}
