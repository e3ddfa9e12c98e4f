import { spawn, spawnSync } from "node:child_process";
import { ServiceError } from "../../domain/errors.js";

/** What a decoder process may use. */
export interface ChildLimits {
  readonly cpuSeconds: number;
  readonly wallMs: number;
  /** Address space; null for programs that reserve far more than they use. */
  readonly memoryBytes: number | null;
  /** The longest file it may write. */
  readonly fileBytes: number;
}

/** How a decoder process ended by itself or at its limits. */
export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly isTimedOut: boolean;
  /** The last of what it wrote to standard error. For the log only: it may quote the file. */
  readonly stderr: string;
}

/** Sets limits one by one (a system may lack some), then becomes the program, with less claim to the processor than speech. */
const LIMIT_SCRIPT = [
  'ulimit -c 0; ulimit -t "$1"; ulimit -v "$2"; ulimit -f "$3"; ulimit -n 64',
  'shift 3; exec nice -n 10 "$@"',
].join("\n");
/** POSIX counts the longest file in blocks of 512 bytes. */
const FILE_BLOCK_BYTES = 512;
const STDERR_CHARACTERS = 4_096;

/**
 * Runs decoders of untrusted media: in a process of their own, without a network where the system can take it away, within
 * limits, and never longer than this process.
 */
export class LimitedChildren {
  readonly #prefix: readonly string[];
  #running = 0;

  constructor() {
    this.#prefix = [
      // A network name space with nothing in it, not even a loopback interface that is up.
      ...workingPrefix(["unshare", "--user", "--map-current-user", "--net", "--"]),
      // After the name space: a change of credentials would clear the signal again.
      ...workingPrefix(["setpriv", "--no-new-privs", "--pdeathsig", "KILL", "--"]),
    ];
  }

  /** Processes that have not ended yet. */
  get running(): number {
    return this.#running;
  }

  /**
   * Settles once the process is gone, whatever ended it.
   * @throws {ServiceError} `CANCELLED` when `signal` is aborted, `INTERNAL` when it cannot be started
   */
  async run(command: readonly string[], limits: ChildLimits, signal: AbortSignal): Promise<ChildEnd> {
    if (signal.aborted) throw cancelled();
    const [file, ...args] = [...this.#prefix, "sh", "-c", LIMIT_SCRIPT, "sh", ...limitArguments(limits)];
    const child = spawn(file!, [...args, ...command], {
      cwd: "/",
      // Nothing of the service's settings, keys among them, reaches a decoder.
      env: { PATH: process.env["PATH"] ?? "", LC_ALL: "C" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#running++;
    let stderr = "";
    let isTimedOut = false;
    child.stderr.on("data", (bytes: Buffer) => {
      stderr = (stderr + bytes.toString("latin1")).slice(-STDERR_CHARACTERS);
    });
    const kill = () => void child.kill("SIGKILL");
    const timer = setTimeout(() => {
      isTimedOut = true;
      kill();
    }, limits.wallMs);
    signal.addEventListener("abort", kill, { once: true });
    try {
      const end = await new Promise<ChildEnd>((resolve, reject) => {
        child.once("error", reject);
        child.once("close", (code, endSignal) => resolve({ code, signal: endSignal, isTimedOut, stderr }));
      });
      if (signal.aborted) throw cancelled();
      return end;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", kill);
      this.#running--;
    }
  }
}

/** The prefix when programs run behind it here, else nothing. */
function workingPrefix(prefix: readonly string[]): readonly string[] {
  if (process.platform !== "linux") return [];
  const [file, ...args] = prefix;
  return spawnSync(file!, [...args, "true"], { stdio: "ignore" }).status === 0 ? prefix : [];
}

function limitArguments({ cpuSeconds, memoryBytes, fileBytes }: ChildLimits): string[] {
  const memory = memoryBytes === null ? "unlimited" : String(Math.floor(memoryBytes / 1_024));
  return [String(cpuSeconds), memory, String(Math.floor(fileBytes / FILE_BLOCK_BYTES))];
}

function cancelled(): ServiceError {
  return new ServiceError("CANCELLED", "transcription was cancelled");
}
