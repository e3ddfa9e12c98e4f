import { type ChildProcess, type StdioOptions, spawn, spawnSync } from "node:child_process";

export interface ProcessLimits {
  readonly cpuSeconds: number;
  /** Address space; null for programs that reserve far more than they use. */
  readonly memoryBytes: number | null;
  /** Largest file the process may write. */
  readonly fileBytes: number;
  /** 0 to 19; higher values leave the CPU to speech. */
  readonly niceness: number;
}

/** Sets limits one by one (a system may lack some), then executes the program. */
const LIMIT_SCRIPT = [
  'ulimit -c 0; ulimit -t "$1"; ulimit -v "$2"; ulimit -f "$3"; ulimit -n 64',
  'niceness=$4; shift 4; exec nice -n "$niceness" "$@"',
].join("\n");
/** POSIX measures the file limit in blocks of 512 bytes. */
const FILE_BLOCK_BYTES = 512;

/**
 * Starts programs that read untrusted data: without a network where the system supports that, within limits,
 * and never longer than the thread that started them.
 */
export class LimitedSpawn {
  /** The system does not change, so it is examined once per thread. */
  static #known: readonly string[] | null = null;
  readonly #prefix: readonly string[];

  constructor() {
    LimitedSpawn.#known ??= [
      // An empty network namespace, without even an active loopback interface.
      ...workingPrefix(["unshare", "--user", "--map-current-user", "--net", "--"]),
      // After the namespace, because a change of credentials would clear the signal.
      ...workingPrefix(["setpriv", "--no-new-privs", "--pdeathsig", "KILL", "--"]),
    ];
    this.#prefix = LimitedSpawn.#known;
  }

  /** @param command the program and its arguments, none of them from clients */
  start(command: readonly string[], limits: ProcessLimits, stdio: StdioOptions): ChildProcess {
    const [file, ...args] = [...this.#prefix, "sh", "-c", LIMIT_SCRIPT, "sh", ...limitArguments(limits)];
    return spawn(file!, [...args, ...command], {
      cwd: "/",
      // Keep the service's settings, such as keys, from the program.
      env: { PATH: process.env["PATH"] ?? "", LC_ALL: "C" },
      stdio,
    });
  }
}

/** Returns the prefix if programs run with it on this system, else nothing. */
function workingPrefix(prefix: readonly string[]): readonly string[] {
  if (process.platform !== "linux") return [];
  const [file, ...args] = prefix;
  return spawnSync(file!, [...args, "true"], { stdio: "ignore" }).status === 0 ? prefix : [];
}

function limitArguments({ cpuSeconds, memoryBytes, fileBytes, niceness }: ProcessLimits): string[] {
  const memory = memoryBytes === null ? "unlimited" : String(Math.floor(memoryBytes / 1_024));
  const blocks = Math.floor(fileBytes / FILE_BLOCK_BYTES);
  return [String(cpuSeconds), memory, String(blocks), String(niceness)];
}
