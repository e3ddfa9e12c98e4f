import type { ChildProcess } from "node:child_process";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { appendFile, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Sql } from "postgres";
import { freePort } from "../../bench/support/free-port.js";
import { connect as connectToDatabase, untilReachable } from "../../src/store/postgres/connect.js";
import { findPostgresBinaries } from "../../src/store/postgres/postgres-binaries.js";
import { CLUSTER_DATABASE, CLUSTER_USER, openCluster } from "../../src/store/postgres/postgres-cluster.js";
import { handOver, launch } from "../../src/store/postgres/postgres-launcher.js";
import { temporaryFolder } from "./folders.js";
import { preparedFolder } from "./prepared-database.js";
import { SILENT } from "./silent-log.js";
import { suspendPostgres } from "./suspended-postgres.js";

const UP_WITHIN_MS = 60_000;
/** Settings for replication. A server that the service itself starts does not have them. */
const SETTINGS = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  wal_level: "replica",
  max_wal_senders: "4",
  io_method: "sync",
  shared_buffers: "32MB",
  // A standby that returns needs the log since its base backup.
  wal_keep_size: "256MB",
};

/** A primary and its standby, behind one address. */
export class ReplicatedPostgres {
  /** The `DATABASE_URL` of services. It leads to the primary, or after `promote` to the standby. */
  readonly url: string;
  #primary: Server;
  #standby: Server;
  readonly #door: Door;
  /** The connection from the standby to the primary. */
  readonly #stream: Door;

  private constructor(parts: { primary: Server; standby: Server; door: Door; stream: Door }) {
    this.url = urlOf(parts.door.port, parts.primary.password);
    this.#primary = parts.primary;
    this.#standby = parts.standby;
    this.#door = parts.door;
    this.#stream = parts.stream;
  }

  /** @param isSynchronous whether commits wait for the standby */
  static async start({ isSynchronous }: { readonly isSynchronous: boolean }): Promise<ReplicatedPostgres> {
    const primaryDir = await preparedFolder();
    const standbyDir = await temporaryFolder();
    const password = (await readFile(join(primaryDir, "postgres-password"), "utf8")).trim();
    // Restart with the settings that a standby needs, because by default a server keeps too little of its
    // log.
    await stopServer(await startServer(primaryDir, password, {}));
    // A copy of the files of a stopped server is a base backup.
    await promisify(execFile)("cp", ["-a", join(primaryDir, "postgres"), standbyDir]);
    const primary = await startServer(primaryDir, password, {
      synchronous_standby_names: isSynchronous ? "*" : "",
    });
    const stream = await Door.open(primary.port);
    try {
      const cluster = join(standbyDir, "postgres");
      const source = `host=127.0.0.1 port=${stream.port} user=${CLUSTER_USER} password=${password}`;
      await appendFile(join(cluster, "postgresql.conf"), `primary_conninfo = '${source}'\n`);
      await writeFile(join(cluster, "standby.signal"), "");
      const standby = await startServer(standbyDir, password, {});
      return new ReplicatedPostgres({ primary, standby, stream, door: await Door.open(primary.port) });
    } catch (error) {
      await stream.close();
      await killAll(primary);
      throw error;
    }
  }

  /** Cuts replication. */
  cutStream(): void {
    this.#stream.lead(null);
  }

  /** Kills the primary as a power loss would. The address then leads nowhere. */
  async losePrimary(): Promise<void> {
    this.#door.lead(null);
    await killAll(this.#primary);
  }

  /** Promotes the standby and points the address to it. */
  async promote(): Promise<void> {
    const sql = connectToDatabase(urlOf(this.#standby.port, this.#standby.password), SILENT);
    try {
      await sql`select pg_promote(wait => true)`;
    } finally {
      await sql.end();
    }
    [this.#primary, this.#standby] = [this.#standby, this.#primary];
    this.#door.lead(this.#primary.port);
  }

  /**
   * Starts the server that was lost before `promote` as a synchronous standby, from a base backup of the
   * primary.
   */
  async rejoin(): Promise<void> {
    const { dataDir, password } = this.#standby;
    const sql = connectToDatabase(urlOf(this.#primary.port, password), SILENT);
    try {
      await copyRunning(sql, this.#primary.dataDir, dataDir);
      this.#stream.lead(this.#primary.port);
      this.#standby = await startServer(dataDir, password, {});
      await sql`alter system set synchronous_standby_names = '*'`;
      await sql`select pg_reload_conf()`;
    } finally {
      await sql.end();
    }
  }

  /** Kills the standby as a power loss would. From then on, commits wait if the standby was synchronous. */
  async loseStandby(): Promise<void> {
    await killAll(this.#standby);
  }

  async restartStandby(): Promise<void> {
    const { dataDir, password } = this.#standby;
    this.#standby = await startServer(dataDir, password, {});
  }

  /** Suspends the primary with all its processes. @returns a function that resumes it */
  async suspendPrimary(): Promise<() => void> {
    return await suspendPostgres(this.#primary.dataDir);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#door.close(), this.#stream.close()]);
    await Promise.all([killAll(this.#primary), killAll(this.#standby)]);
  }
}

interface Server {
  readonly dataDir: string;
  readonly child: ChildProcess;
  readonly port: number;
  readonly password: string;
}

async function startServer(
  dataDir: string,
  password: string,
  others: Readonly<Record<string, string>>,
): Promise<Server> {
  const binaries = await findPostgresBinaries();
  const { dir, launcher } = await openCluster({ binaries, dataDir, password });
  // A standby has these files, which were written here instead of copied.
  for (const own of ["standby.signal", "backup_label"])
    await handOver(join(dir, own), launcher).catch(() => {});
  const port = await freePort();
  const settings = Object.entries({ ...SETTINGS, ...others }).flatMap(([name, value]) => [
    "-c",
    `${name}=${value}`,
  ]);
  const command = [binaries.postgres, "-D", dir, "-p", String(port), ...settings];
  const child = launch(launcher, command, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-4_000);
  });
  const sql = connectToDatabase(urlOf(port, password), SILENT);
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`it ended with ${code}`);
  });
  try {
    await Promise.race([untilReachable(sql, UP_WITHIN_MS), ended]);
  } catch (cause) {
    child.kill("SIGKILL");
    throw new Error(`Cannot start PostgreSQL: ${said}`, { cause });
  } finally {
    ended.catch(() => {});
    await sql.end({ timeout: 1 });
  }
  return { dataDir, child, port, password };
}

/**
 * Copies the files of a running server as the PostgreSQL manual describes for backups without
 * `pg_basebackup`, which the package of the private server lacks.
 */
async function copyRunning(sql: Sql, fromDir: string, toDir: string): Promise<void> {
  const [from, to] = [join(fromDir, "postgres"), join(toDir, "postgres")];
  const session = await sql.reserve();
  try {
    await session`select pg_backup_start('standby', true)`;
    await rm(to, { recursive: true, force: true });
    // Files that vanish meanwhile are in the log that the standby replays.
    await promisify(execFile)("cp", ["-a", from, toDir]).catch(() => {});
    const [stopped] = await session<{ labelfile: string }[]>`select labelfile from pg_backup_stop(false)`;
    for (const own of ["postmaster.pid", "postmaster.opts", "postgresql.auto.conf"])
      await rm(join(to, own), { force: true });
    await writeFile(join(to, "backup_label"), stopped!.labelfile);
    await writeFile(join(to, "standby.signal"), "");
  } finally {
    session.release();
  }
}

async function stopServer({ child }: Server): Promise<void> {
  const ended = once(child, "exit");
  child.kill("SIGINT");
  await ended;
}

/** Kills the server and its processes at the same time. Otherwise the processes would end cleanly. */
async function killAll({ child }: Server): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const pid = child.pid!;
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  for (const each of children.trim().split(" ")) {
    try {
      process.kill(Number(each), "SIGKILL");
    } catch {
      // The process has just ended by itself.
    }
  }
  await ended;
}

/** A TCP proxy that stands for an address that moves, such as a name, a proxy or a virtual IP. */
class Door {
  readonly port: number;
  readonly #server;
  readonly #sockets = new Set<Socket>();
  #target: number | null;

  private constructor(server: ReturnType<typeof createServer>, target: number) {
    this.#server = server;
    this.#target = target;
    this.port = (server.address() as AddressInfo).port;
    server.on("connection", (near) => this.#join(near));
  }

  static async open(target: number): Promise<Door> {
    const server = createServer({ noDelay: true });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new Door(server, target);
  }

  /** Ends all connections. New ones go to `port`, or nowhere if it is null. */
  lead(port: number | null): void {
    this.#target = port;
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.lead(null);
    const closed = once(this.#server, "close");
    this.#server.close();
    await closed;
  }

  #join(near: Socket): void {
    if (this.#target === null) {
      near.destroy();
      return;
    }
    const far = connect({ host: "127.0.0.1", port: this.#target, noDelay: true });
    near.pipe(far).pipe(near);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(one);
      // The `close` event follows.
      one.on("error", () => {});
      one.on("close", () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }
}

function urlOf(port: number, password: string): string {
  return `postgres://${CLUSTER_USER}:${encodeURIComponent(password)}@127.0.0.1:${port}/${CLUSTER_DATABASE}`;
}
