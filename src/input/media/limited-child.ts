import { LimitedSpawn, type ProcessLimits } from "../../../core/child-processes/limited-spawn.js";
import { ServiceError } from "../../../core/domain/errors.js";

export interface ChildLimits extends Omit<ProcessLimits, "niceness"> {
  readonly wallMs: number;
}

/** How a decoder process ended. */
export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly isTimedOut: boolean;
  /** The end of its standard error. For the log only: it may quote the file. */
  readonly stderr: string;
}

const STDERR_CHARACTERS = 4_096;
/** Decoding must not delay speech. */
const NICENESS = 10;

/** Runs decoders of untrusted media, each in a separate process (`LimitedSpawn`). */
export class LimitedChildren {
  readonly #programs = new LimitedSpawn();
  #running = 0;

  /** Processes that have not ended yet. */
  get running(): number {
    return this.#running;
  }

  /**
   * Settles once the process has ended, for any reason.
   * @throws {ServiceError} `CANCELLED` if `signal` is aborted, `INTERNAL` if it cannot be started
   */
  async run(command: readonly string[], limits: ChildLimits, signal: AbortSignal): Promise<ChildEnd> {
    if (signal.aborted) throw cancelled();
    const child = this.#programs.start(command, { ...limits, niceness: NICENESS }, [
      "ignore",
      "ignore",
      "pipe",
    ]);
    this.#running++;
    let stderr = "";
    let isTimedOut = false;
    child.stderr?.on("data", (bytes: Buffer) => {
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

function cancelled(): ServiceError {
  return new ServiceError("CANCELLED", "transcription was cancelled");
}
