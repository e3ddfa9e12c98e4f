import type { ChildProcess } from "node:child_process";
import { open, readFile, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { settlesWithin, whenReady } from "../../../core/kernel/readiness.js";
import type { Child } from "../../../core/kernel/supervisor.js";
import { launch, type PostgresLauncher } from "./postgres-launcher.js";

export interface PostgresProcessOptions {
  readonly launcher: PostgresLauncher;
  readonly postgresPath: string;
  readonly clusterDir: string;
  readonly logPath: string;
  readonly port: number;
}

/** Thrown if the server ended before it was ready. The message ends with the server's last output. */
export class PostgresStartError extends Error {
  override readonly name = "PostgresStartError";
}

/** Written to `postmaster.pid` once the server accepts connections. */
const READY = "ready";
const READY_WITHIN_MS = 60_000;
const READY_POLL_MS = 20;
const FAST_SHUTDOWN_MS = 15_000;
const IMMEDIATE_SHUTDOWN_MS = 5_000;
const MAX_LOG_BYTES = 4 * 1024 * 1024;

/** Settings for few processes and little memory, since there is one client with small tables. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "40",
  shared_buffers: "32MB",
  max_wal_size: "128MB",
  io_method: "sync",
  wal_level: "minimal",
  max_wal_senders: "0",
  max_logical_replication_workers: "0",
  max_parallel_workers: "0",
  jit: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  // Statements contain names of organizations, and the client gets every error anyway.
  log_min_error_statement: "panic",
};

/** Runs the server process once, from ready to exit. */
export class PostgresProcess implements Child {
  readonly ended: Promise<Error | null>;
  /** Resolves to how the process ended. */
  readonly #exited: Promise<string>;
  readonly #child: ChildProcess;
  #isStopping = false;
  readonly #endWithUs = () => {
    this.#child.kill("SIGINT");
  };

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#exited = hasExited(child);
    this.ended = this.#exited.then((how) => (this.#isStopping ? null : new Error(how)));
    // For a process that exits without stopping the server. After kill -9, the kernel does the same.
    process.on("exit", this.#endWithUs);
    void this.#exited.then(() => process.off("exit", this.#endWithUs));
  }

  /**
   * Starts the server and waits until it accepts connections.
   *
   * @throws {PostgresStartError} if it exits instead, or is not ready within a minute
   */
  static async start(options: PostgresProcessOptions): Promise<PostgresProcess> {
    await rotate(options.logPath);
    const log = await open(options.logPath, "a", 0o600);
    const logStart = (await log.stat()).size;
    const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const command = [options.postgresPath, "-D", options.clusterDir, "-p", String(options.port), ...settings];
    const child = launch(options.launcher, command, { stdio: ["ignore", log.fd, log.fd] });
    const server = new PostgresProcess(child);
    await log.close();
    const watch = new AbortController();
    try {
      await whenReady<void>({
        ended: server.ended,
        withinMs: READY_WITHIN_MS,
        listen: (ready) => void server.#isReady(options.clusterDir, watch.signal).then(ready),
        giveUp: () => new Error(`it is not ready after ${READY_WITHIN_MS} ms`),
      });
      return server;
    } catch (cause) {
      await server.stop();
      const said = `${(cause as Error).message}: ${await tail(options.logPath, logStart)}`;
      throw new PostgresStartError(`Cannot start the private PostgreSQL: ${said}`, { cause });
    } finally {
      watch.abort();
    }
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Stops the server and disconnects its clients. Everything committed is on disk. May be called twice. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    if (this.#child.pid === undefined) return;
    for (const [signal, patienceMs] of [
      ["SIGINT", FAST_SHUTDOWN_MS],
      ["SIGQUIT", IMMEDIATE_SHUTDOWN_MS],
      ["SIGKILL", IMMEDIATE_SHUTDOWN_MS],
    ] as const) {
      this.#child.kill(signal);
      if (await settlesWithin(this.#exited, patienceMs)) return;
    }
    throw new Error(`Cannot stop the private PostgreSQL, process id ${this.#child.pid}`);
  }

  /**
   * Waits until `postmaster.pid` says `ready`, which needs no connection and no password, or `watched` is
   * aborted.
   * abort.
   */
  async #isReady(clusterDir: string, watched: AbortSignal): Promise<void> {
    while (true) {
      const lines = (await readFile(join(clusterDir, "postmaster.pid"), "utf8").catch(() => "")).split("\n");
      // The file of a killed server also says "ready", but with a different process ID.
      if (Number(lines[0]) === this.#child.pid && lines[7]?.trim() === READY) return;
      if (watched.aborted) return;
      await sleep(READY_POLL_MS);
    }
  }
}

async function hasExited(child: ChildProcess): Promise<string> {
  return await new Promise((resolve) => {
    child.once("exit", (code, signal) =>
      resolve(signal === null ? `exit code ${code}` : `ended by ${signal}`),
    );
    // A program that cannot be started reports an error and never exits.
    child.once("error", (error) => resolve(error.message));
  });
}

async function rotate(logPath: string): Promise<void> {
  const size = (await stat(logPath).catch(() => null))?.size ?? 0;
  if (size > MAX_LOG_BYTES) await rename(logPath, `${logPath}.1`);
}

async function tail(logPath: string, from: number): Promise<string> {
  const written = (await readFile(logPath).catch(() => Buffer.alloc(0))).subarray(from).toString("utf8");
  const lines = written.trim().split("\n").slice(-6);
  return lines.join(" | ") || `see ${logPath}`;
}
