import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LANGUAGE_MODELS_FOLDER } from "../../core/domain/decoding/unpacked-place.js";
import { freePort } from "./free-port.js";
import { UNPACKED } from "./unpacked.js";

const MAIN = fileURLToPath(new URL("../../src/main.js", import.meta.url));
const DAUYS = fileURLToPath(new URL("../../../bin/dauys.js", import.meta.url));
const READY_WITHIN_MS = 300_000;
const POLL_MS = 50;
/** Unit of CPU times on Linux. */
const TICKS_PER_SECOND = 100;
export const TEST_KEY = `sk-svc-${"0123456789abcdef".repeat(3)}`;

const DEFAULTS = {
  MALLOC_TRIM_THRESHOLD_: "131072",
  HOST: "127.0.0.1",
  DEV_API_KEY: TEST_KEY,
  LOG_LEVEL: "warn",
  // The development organization uses its free grant, whose limits must not affect measurements.
  ...{ FREE_SYNTHESIS_PER_ORG: "20", FREE_FILES_PER_ORG: "10", FREE_LIVE_PER_ORG: "20" },
  // Use one worker of each kind on any machine, as results and tests assume.
  ...{ LIVE_WORKERS: "1", FILE_WORKERS: "1", SYNTHESIS_WORKERS: "1" },
  // Disabled, because tests and benches repeat sentences to run the model.
  SENTENCE_CACHE_MB: "0",
};

export interface ServiceProcess {
  readonly url: string;
  readonly port: number;
  readonly key: string;
  readonly child: ChildProcess;
  readonly dataDir: string;
  /** Time from spawn to the first response of `/ready`. */
  readonly readyMs: number;
  /** Standard output and error of the process so far. */
  output(): string;
  /** CPU seconds of the process and its threads so far. */
  cpuSeconds(): number;
  /** Resident memory in bytes. */
  residentBytes(): number;
  /** Sends SIGTERM; settles with the exit code. */
  stop(): Promise<number | null>;
}

export interface ServiceProcessOptions {
  /** Limit of file descriptors. */
  readonly openFiles?: number;
  /** CPUs that the process may use, `0-3`; Linux only. */
  readonly cpus?: string;
  /** Program of another checkout, or one whose threads fail. */
  readonly main?: string;
  /** Command of another Node version; it must not fork. */
  readonly node?: readonly string[];
}

/**
 * Starts the real service in a process, on a free port of 127.0.0.1 and with a temporary data folder by
 * default.
 */
export async function startServiceProcess(
  environment: Readonly<Record<string, string>> = {},
  { openFiles, cpus, main = MAIN, node = [process.execPath] }: ServiceProcessOptions = {},
): Promise<ServiceProcess> {
  const dataDir = environment["DATA_DIR"] ?? (await temporaryDataFolder());
  const removeOwn = async () => {
    if (environment["DATA_DIR"] === undefined) await rm(dataDir, { recursive: true, force: true });
  };
  await shareLanguageModels(dataDir);
  const port = Number(environment["PORT"] ?? (await freePort()));
  const startedAtMs = performance.now();
  const program = [...node, main];
  const limited =
    openFiles === undefined ? program : ["sh", "-c", `ulimit -n ${openFiles}; exec "$0" "$@"`, ...program];
  const [command = "", ...args] = cpus === undefined ? limited : ["taskset", "-c", cpus, ...limited];
  const child = spawn(command, args, {
    env: { ...process.env, ...DEFAULTS, PORT: String(port), DATA_DIR: dataDir, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const written: string[] = [];
  child.stdout.on("data", (bytes: Buffer) => written.push(bytes.toString()));
  child.stderr.on("data", (bytes: Buffer) => written.push(bytes.toString()));
  const exited = new Promise<number | null>((resolve) =>
    child.once("exit", (code, signal) => {
      // Record the signal, which is the only trace of a crash in native code.
      if (signal !== null) written.push(`\n(the service was ended by ${signal})\n`);
      resolve(code);
    }),
  );
  const output = () => written.join("");
  const url = `http://127.0.0.1:${port}`;
  await untilReady(url, child, exited, output).catch(async (error: unknown) => {
    await exited;
    await removeOwn();
    throw error;
  });
  return {
    url,
    port,
    key: environment["DEV_API_KEY"] ?? TEST_KEY,
    child,
    dataDir,
    readyMs: performance.now() - startedAtMs,
    output,
    cpuSeconds: () => cpuSecondsOf(child.pid!),
    residentBytes: () => residentBytesOf(child.pid!),
    stop: async () => {
      child.kill("SIGTERM");
      const code = await exited;
      await removeOwn();
      return code;
    },
  };
}

async function temporaryDataFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "dauys-"));
  // A service started by root runs the database as another user, who needs access.
  await chmod(folder, 0o711);
  return folder;
}

/** Shares unpacked language models: unpacking one in a new data folder costs a second of CPU. */
async function shareLanguageModels(dataDir: string): Promise<void> {
  for (const folder of [UNPACKED.folder, dataDir]) await mkdir(folder, { recursive: true, mode: 0o711 });
  const link = join(dataDir, LANGUAGE_MODELS_FOLDER);
  if (!existsSync(link)) await symlink(UNPACKED.folder, link);
}

/** Adds credits for a benchmark that costs more than the free grant. @param environment of the service */
export async function creditDevelopment(
  service: ServiceProcess,
  credits: number,
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  const args = [DAUYS, "orgs", "credit", "org_development", String(credits)];
  await promisify(execFile)(process.execPath, args, {
    env: { ...process.env, ...environment, DATA_DIR: service.dataDir },
  });
}

/**
 * Settles once `/ready` succeeds.
 * @throws with the process's output if it ends before, or on a timeout, after which it is killed
 */
export async function untilReady(
  url: string,
  child: ChildProcess,
  exited: Promise<number | null>,
  output: () => string,
): Promise<void> {
  let isOver = false;
  const answer = async () => {
    const deadlineMs = performance.now() + READY_WITHIN_MS;
    while (performance.now() < deadlineMs && !isOver) {
      const ready = await fetch(`${url}/ready`).catch(() => null);
      await ready?.body?.cancel();
      if (ready?.ok === true) return;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    throw new Error(`${url} was not ready within ${READY_WITHIN_MS} ms:\n${output()}`);
  };
  const ending = exited.then((code) => {
    throw new Error(`${url} ended with ${code} before it was ready:\n${output()}`);
  });
  try {
    await Promise.race([answer(), ending]);
  } catch (error) {
    // Nobody else has a handle to it, and it would keep this process alive.
    child.kill("SIGKILL");
    throw error;
  } finally {
    isOver = true;
  }
}

/** CPU seconds of a process and its threads so far. */
export function cpuSecondsOf(pid: number): number {
  return cpuSecondsIn(`/proc/${pid}/stat`);
}

/** CPU seconds of the main thread alone. */
export function mainThreadCpuSecondsOf(pid: number): number {
  return cpuSecondsIn(`/proc/${pid}/task/${pid}/stat`);
}

function cpuSecondsIn(path: string): number {
  const stat = readFileSync(path, "utf8");
  // Fields after the command's name, which may contain spaces: user time is the 12th, system time the 13th.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Resident memory of a process in bytes. */
export function residentBytesOf(pid: number): number {
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(match?.[1] ?? 0) * 1_024;
}
