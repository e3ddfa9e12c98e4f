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

/** Address and credentials of the private server. */
export interface PostgresConnection {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

export interface EmbeddedPostgresOptions {
  /** Absolute path. */
  readonly dataDir: string;
  readonly purpose: LockPurpose;
  readonly log: Log;
}

/** File in the data folder, for operator commands, while the server runs. */
export const CONNECTION_FILE = "postgres.json";

/** Pause between a crash and the restart, so that a short fault does not use up all restarts. */
const RESTART_PAUSE = { firstMs: 250, longestMs: 5_000 };
/** Three segments of the write-ahead log. With less space, the server may not start. */
const LEAST_FREE_BYTES = 48 * 2 ** 20;
const START_TRIES = 8;
/**
 * Attempts over about a minute; then the failure counts as another crash. A restarted server needs its old
 * port, which another process may have taken in the meantime.
 */
const RESTART_TRIES = 20;
const START_PAUSE_MS = 300;
const PORT_TAKEN = /could not bind|could not create any TCP/;
const STILL_RUNNING = /still in use|lock file "postmaster.pid" already exists/;

/** Runs a private PostgreSQL in the data folder: starts, supervises, restarts and stops it. */
export class EmbeddedPostgres {
  readonly connection: PostgresConnection;
  /** Settles with the reason if the server is given up after too many crashes. */
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
      const patience = {
        tries: RESTART_TRIES,
        passing: [STILL_RUNNING, PORT_TAKEN],
        stopping: this.#stopping.signal,
      };
      const started = first ?? (await startWithRetry(processOptions, patience));
      first = null;
      return started;
    };
    this.#supervisor = new Supervisor<PostgresProcess>(
      {
        id: "private-database",
        start,
        pause: RESTART_PAUSE,
        // A full or read-only disk is not the server's fault, and may be fixed in the meantime.
        isExcused: async ({ reason, servedMs }) => {
          const isDiskShort = await isDiskFull(dataDir);
          log.error({ ending: reason.message, servedMs, isDiskShort }, "private database ended, restarting");
          return isDiskShort;
        },
        onUp: ({ pid }) => log.info({ serverPid: pid }, "private database up"),
        // `isExcused` has already logged it, together with the state of the disk.
        onDown: () => {},
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
   * Locks the folder, creates the cluster on first use, and starts the server on a free loopback port.
   *
   * @throws {FolderInUse} if another service or command uses the folder
   * @throws {Error} if the server cannot run here; the message suggests `DATABASE_URL`
   */
  static async start(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
    const { dataDir, log } = options;
    const lock = await lockFolder(dataDir, options.purpose);
    try {
      const binaries = await findPostgresBinaries();
      const password = await rememberedSecret(join(dataDir, "postgres-password"), () =>
        randomBytes(24).toString("base64url"),
      );
      const cluster = await openCluster({ binaries, dataDir, password });
      const orphan = await stopOrphan(cluster.dir);
      if (orphan !== "none") log.warn({ orphan }, "a killed service left its private database");
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

  /** Process ID of the running server. */
  get pid(): number | undefined {
    return this.#supervisor.child?.pid;
  }

  /** Stops the server and releases the folder. May be called twice. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    try {
      await rm(join(this.#dataDir, CONNECTION_FILE), { force: true });
    } finally {
      // Do this even on a read-only disk: a server that is restarted forever would keep the process alive.
      await this.#supervisor.stop().finally(() => this.#lock.release());
    }
  }
}

/** Returns whether a folder's disk has too little space for the server, or is not writable. */
async function isDiskFull(folder: string): Promise<boolean> {
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

async function startOnFreePort(
  options: Omit<PostgresProcessOptions, "port">,
): Promise<{ server: PostgresProcess; processOptions: PostgresProcessOptions }> {
  for (let tries = 1; ; tries++) {
    const processOptions = { ...options, port: await freeLoopbackPort() };
    try {
      const patience = { tries: START_TRIES, passing: [STILL_RUNNING] };
      return { server: await startWithRetry(processOptions, patience), processOptions };
    } catch (error) {
      // Another process may have taken the port since it was checked.
      if (tries >= START_TRIES || !isStartError(error, PORT_TAKEN)) throw error;
    }
  }
}

/** Starts the server. Retries while a temporary obstacle remains, such as leftovers of a killed server. */
async function startWithRetry(
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
