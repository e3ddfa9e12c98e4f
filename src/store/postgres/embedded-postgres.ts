import { randomBytes } from "node:crypto";
import { open, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { RESTART_LIMITS, Supervisor } from "../../../core/kernel/supervisor.js";
import type { Log } from "../../../core/observe/log.js";
import { type FolderLock, type LockPurpose, lockFolder } from "./folder-lock.js";
import { freeLoopbackPort } from "./loopback-port.js";
import { findPostgresBinaries } from "./postgres-binaries.js";
import { CLUSTER_DATABASE, CLUSTER_USER, openCluster, stopOrphan } from "./postgres-cluster.js";
import { PostgresProcess, type PostgresProcessOptions, PostgresStartError } from "./postgres-process.js";
import { isErrno, rememberedSecret, writeSecret } from "./secret-files.js";

/** Where the private server listens, and how to sign in. */
export interface PostgresConnection {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

export interface EmbeddedPostgresOptions {
  /** Absolute. */
  readonly dataDir: string;
  readonly purpose: LockPurpose;
  readonly log: Log;
}

/** While the server runs, operators' commands find it by this file in the data folder. */
export const CONNECTION_FILE = "postgres.json";

/** Between an end and the restart: six ends in one second say less than six in eight. */
const RESTART_PAUSE = { firstMs: 250, longestMs: 5_000 };
/** Three segments of the write-ahead log: with less the server may not come up. */
const LEAST_FREE_BYTES = 48 * 2 ** 20;
const START_TRIES = 8;
/**
 * About a minute, then it is one ending more. A server that comes back must have its old port, which a stranger may have
 * taken meanwhile.
 */
const RESTART_TRIES = 20;
const START_PAUSE_MS = 300;
const PORT_TAKEN = /could not bind|could not create any TCP/;
const NOT_YET_GONE = /still in use|lock file "postmaster.pid" already exists/;

/** A PostgreSQL of our own in the data folder: started, watched, restarted when it dies, stopped with us. */
export class EmbeddedPostgres {
  readonly connection: PostgresConnection;
  /** Settles with the reason when the server has died too often and is given up. */
  readonly lost: Promise<Error>;
  readonly #lock: FolderLock;
  readonly #dataDir: string;
  readonly #stopping = new AbortController();
  readonly #supervisor: Supervisor<PostgresProcess>;
  #stopped: Promise<void> | null = null;

  private constructor(parts: {
    connection: PostgresConnection;
    lock: FolderLock;
    processOptions: PostgresProcessOptions;
    server: PostgresProcess;
    options: EmbeddedPostgresOptions;
  }) {
    const { connection, lock, processOptions, server, options } = parts;
    const { dataDir, log } = options;
    this.connection = connection;
    this.#lock = lock;
    this.#dataDir = dataDir;
    let first: PostgresProcess | null = server;
    let giveUp: (reason: Error) => void = () => {};
    this.lost = new Promise((resolve) => {
      giveUp = resolve;
    });
    const start = async () => {
      const started = first ?? (await restart(processOptions, this.#stopping.signal));
      first = null;
      return started;
    };
    this.#supervisor = new Supervisor<PostgresProcess>(
      {
        id: "private-database",
        start,
        pause: RESTART_PAUSE,
        // A disk that is full, or not to be written to, is no fault of the server, and may be mended while we wait.
        isExcused: async ({ reason, servedMs }) => {
          const isDiskShort = await isShort(dataDir);
          log.error({ ending: reason.message, servedMs, isDiskShort }, "private database ended, restarting");
          return isDiskShort;
        },
        onUp: ({ pid }) => log.info({ serverPid: pid }, "private database up"),
        onDown: () => {
          // Logged with what the disk has to say about it.
        },
        onGiveUp: (ending) => {
          const { maxRestarts, windowMs } = RESTART_LIMITS;
          const times = `${maxRestarts + 1} times in ${windowMs / 1000} s`;
          const reason = new Error(`the private database ended ${times}: ${ending.message}`, {
            cause: ending,
          });
          log.fatal({ err: reason }, "private database given up");
          giveUp(reason);
        },
      },
      () => performance.now(),
    );
  }

  /**
   * Locks the folder, makes the cluster on first use and starts the server on a free loopback port.
   *
   * @throws {FolderInUse} when another service or command works in the folder
   * @throws {Error} when the server cannot run here; the message names `DATABASE_URL`
   */
  static async start(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
    const { dataDir, log } = options;
    const lock = await lockFolder(dataDir, options.purpose);
    try {
      const binaries = await findPostgresBinaries();
      const password = await rememberedSecret(join(dataDir, "postgres-password"), newPassword);
      const cluster = await openCluster({ binaries, dataDir, password });
      const orphan = await stopOrphan(cluster.dir);
      if (orphan !== "none") log.warn({ orphan }, "found what a killed service left of its private database");
      const { server, processOptions } = await startOnFreePort({
        launcher: cluster.launcher,
        postgresPath: binaries.postgres,
        clusterDir: cluster.dir,
        logPath: join(dataDir, "postgres.log"),
      });
      const address = { host: "127.0.0.1", port: processOptions.port };
      const connection = { ...address, user: CLUSTER_USER, password, database: CLUSTER_DATABASE };
      await writeSecret(join(dataDir, CONNECTION_FILE), JSON.stringify(connection));
      log.info({ ...address, as: cluster.launcher.name }, "private database started");
      const embedded = new EmbeddedPostgres({ connection, lock, processOptions, server, options });
      await embedded.#supervisor.start();
      return embedded;
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  /** Process id of the server that runs now; for tests and messages. */
  get pid(): number | undefined {
    return this.#supervisor.child?.pid;
  }

  /** Ends the server and frees the folder. May be called twice. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    try {
      await rm(join(this.#dataDir, CONNECTION_FILE), { force: true });
    } finally {
      // On a disk that takes no writes, too: a server that is brought back for ever would keep the process.
      await this.#supervisor.stop().finally(() => this.#lock.release());
    }
  }
}

/** Brings the server back on its old port, where the connections look for it. */
function restart(options: PostgresProcessOptions, stopping: AbortSignal): Promise<PostgresProcess> {
  return startPatiently(options, { tries: RESTART_TRIES, passing: [NOT_YET_GONE, PORT_TAKEN], stopping });
}

/** Whether the disk of a folder has no room for the server, or takes no writes. */
async function isShort(folder: string): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(folder);
    if (bavail * bsize < LEAST_FREE_BYTES) return true;
    const probe = join(folder, `.probe-${randomBytes(4).toString("hex")}`);
    await (await open(probe, "wx", 0o600)).close();
    await rm(probe, { force: true });
    return false;
  } catch (error) {
    return ["ENOSPC", "EDQUOT", "EROFS"].some((code) => isErrno(error, code));
  }
}

function newPassword(): string {
  return randomBytes(24).toString("base64url");
}

async function startOnFreePort(
  options: Omit<PostgresProcessOptions, "port">,
): Promise<{ server: PostgresProcess; processOptions: PostgresProcessOptions }> {
  for (let tries = 1; ; tries++) {
    const processOptions = { ...options, port: await freeLoopbackPort() };
    try {
      const patience = { tries: START_TRIES, passing: [NOT_YET_GONE] };
      return { server: await startPatiently(processOptions, patience), processOptions };
    } catch (error) {
      // Somebody took the port between our look and the server's.
      if (tries >= START_TRIES || !isStartError(error, PORT_TAKEN)) throw error;
    }
  }
}

/** Starts the server; what is in its way and will pass, like the rest of one that was killed a moment ago, gets time to. */
async function startPatiently(
  options: PostgresProcessOptions,
  patience: {
    readonly tries: number;
    readonly passing: readonly RegExp[];
    readonly stopping?: AbortSignal;
  },
): Promise<PostgresProcess> {
  for (let tries = 1; ; tries++) {
    try {
      return await PostgresProcess.start(options);
    } catch (error) {
      const isPassing = patience.passing.some((pattern) => isStartError(error, pattern));
      if (!isPassing || tries >= patience.tries || patience.stopping?.aborted === true) throw error;
      await sleep(START_PAUSE_MS * tries, undefined, { signal: patience.stopping }).catch(() => {
        throw error;
      });
    }
  }
}

function isStartError(error: unknown, pattern: RegExp): boolean {
  return error instanceof PostgresStartError && pattern.test(error.message);
}
