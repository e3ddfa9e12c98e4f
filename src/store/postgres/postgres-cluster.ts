import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { isAlive } from "./folder-lock.js";
import type { PostgresBinaries } from "./postgres-binaries.js";
import { chooseLauncher, handOver, launch, type PostgresLauncher } from "./postgres-launcher.js";
import { isErrno, readIfPresent, writeSecret } from "./secret-files.js";

/** The superuser of a private cluster, and the database that every cluster has. */
export const CLUSTER_USER = "dauys";
export const CLUSTER_DATABASE = "postgres";

export interface ClusterOptions {
  readonly binaries: PostgresBinaries;
  readonly dataDir: string;
  readonly password: string;
}

/** A cluster's files, and how to start programs on them. */
export interface Cluster {
  readonly dir: string;
  readonly launcher: PostgresLauncher;
}

const FAST_SHUTDOWN_MS = 15_000;
const IMMEDIATE_SHUTDOWN_MS = 5_000;
const EXIT_POLL_MS = 50;

/** Opens the cluster in `dataDir/postgres`, or creates it. The folder must be locked. */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const dir = join(options.dataDir, "postgres");
  const postgresPath = options.binaries.postgres;
  const owner = await stat(join(dir, "PG_VERSION")).catch(() => null);
  if (owner !== null) {
    return { dir, launcher: await chooseLauncher({ postgresPath, clusterDir: dir, ownerUid: owner.uid }) };
  }
  await removeUnfinished(options.dataDir);
  // Rename it when complete, so that an interrupted start leaves nothing that looks like a cluster.
  const draft = `${dir}.new`;
  await mkdir(draft, { mode: 0o700 });
  const launcher = await chooseLauncher({ postgresPath, clusterDir: draft, ownerUid: null });
  await initialize(options, draft, launcher);
  await rename(draft, dir);
  return { dir, launcher };
}

/**
 * Stops a server that a killed service left on this cluster. If the server is dead but its process ID was
 * reused, removes its pid file, because PostgreSQL would mistake it for a running server.
 */
export async function stopOrphan(clusterDir: string): Promise<"none" | "stopped" | "forgotten"> {
  const pidFile = join(clusterDir, "postmaster.pid");
  const pid = Number.parseInt((await readIfPresent(pidFile)) ?? "", 10);
  if (!(pid > 1) || !isAlive(pid)) return "none";
  const { program, args } = await commandOf(pid);
  if (basename(program) !== "postgres") {
    await rm(pidFile, { force: true });
    return "forgotten";
  }
  // This server uses other files. PostgreSQL itself checks whether it conflicts.
  if (!args.includes(clusterDir)) return "none";
  for (const [signal, patienceMs] of [
    ["SIGINT", FAST_SHUTDOWN_MS],
    ["SIGQUIT", IMMEDIATE_SHUTDOWN_MS],
  ] as const) {
    process.kill(pid, signal);
    if (await exitsWithin(pid, patienceMs)) return "stopped";
  }
  throw new Error(`Cannot start a private PostgreSQL: process ${pid} holds ${clusterDir} and does not stop`);
}

async function initialize(options: ClusterOptions, dir: string, launcher: PostgresLauncher): Promise<void> {
  const passwordFile = join(options.dataDir, "postgres.new-password");
  await writeSecret(passwordFile, options.password);
  await handOver(passwordFile, launcher);
  const command = [options.binaries.initdb, "-D", dir, "-U", CLUSTER_USER, "-A", "scram-sha-256"];
  const settings = ["--encoding=UTF8", "--locale=C", "--no-instructions", `--pwfile=${passwordFile}`];
  try {
    const child = launch(launcher, [...command, ...settings], { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    const [code] = (await once(child, "close")) as [number | null];
    if (code !== 0) throw new Error(`Cannot create a private PostgreSQL in ${dir}: initdb: ${said.trim()}`);
  } finally {
    await rm(passwordFile, { force: true });
  }
}

async function removeUnfinished(dataDir: string): Promise<void> {
  const names = await readdir(dataDir);
  const unfinished = names.filter((name) => name === "postgres.new" || name.startsWith("postgres.new-"));
  await Promise.all(unfinished.map((name) => rm(join(dataDir, name), { recursive: true, force: true })));
}

async function commandOf(pid: number): Promise<{ program: string; args: string }> {
  try {
    const [program = "", ...args] = (await readFile(`/proc/${pid}/cmdline`, "utf8")).split("\0");
    return { program, args: args.join(" ") };
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
    // There is no /proc, or the process has ended.
    const [program, args] = await Promise.all([askPs(pid, "comm="), askPs(pid, "args=")]);
    return { program, args };
  }
}

async function askPs(pid: number, column: string): Promise<string> {
  const asked = promisify(execFile)("ps", ["-o", column, "-p", String(pid)]);
  return (await asked.catch(() => ({ stdout: "" }))).stdout.trim();
}

async function exitsWithin(pid: number, limitMs: number): Promise<boolean> {
  const deadlineMs = performance.now() + limitMs;
  while (isAlive(pid)) {
    if (performance.now() > deadlineMs) return false;
    await sleep(EXIT_POLL_MS);
  }
  return true;
}
