import type { ChildProcess } from "node:child_process";
import { findProgram } from "../../core/child-processes/find-program.js";
import { LimitedSpawn, type ProcessLimits } from "../../core/child-processes/limited-spawn.js";
import { ServiceError } from "../../core/domain/errors.js";
import { type Clause, clausesOf } from "./clauses.js";
import type { ReadClause } from "./piper-phonemes.js";

export interface EspeakOptions {
  /** An espeak-ng voice: `kk`, `ru`, `en-us`. */
  readonly voice: string;
  readonly program: string;
  /** Timeout for a response; 10 s by default. */
  readonly answerWithinMs?: number;
}

interface ChildEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Default timeout; a sentence takes 10 ms. */
const ANSWER_WITHIN_MS = 10_000;
/**
 * Limits of the process. It writes no files, but its (unused) audio library allocates 64 MB of shared memory,
 * which counts as a file.
 */
const LIMITS = {
  cpuSeconds: 5,
  memoryBytes: 512 << 20,
  fileBytes: 128 << 20,
  // Normal priority, because a listener is waiting.
  niceness: 0,
} as const satisfies ProcessLimits;
/** Maximum length of a response; a piece has 180 characters, and its phonemes about 400 bytes. */
const LONGEST_ANSWER_BYTES = 1 << 18;
const STDERR_CHARACTERS = 1_000;
/** Number of attempts: after two crashes, the text is assumed to be the cause. */
const ATTEMPTS = 2;

/** Finds the path of espeak-ng; null if it is not installed. */
export function findEspeak(searchPath: string): string | null {
  return findProgram({ name: "espeak-ng", versionArgument: "--version" }, searchPath);
}

/**
 * Debian's espeak-ng as a phonemizer.
 *
 * Each child process reads one piece and exits, which marks the end of its response; the next child is
 * started in advance. So no text can affect the output for another.
 */
export class Espeak {
  readonly #programs = new LimitedSpawn();
  readonly #command: readonly string[];
  readonly #answerWithinMs: number;
  #waiting: EspeakChild | null = null;
  #isClosed = false;

  constructor({ voice, program, answerWithinMs = ANSWER_WITHIN_MS }: EspeakOptions) {
    // Send the text on standard input, because every user of the machine could read an argument.
    this.#command = [program, "-v", voice, "-q", "--ipa"];
    this.#answerWithinMs = answerWithinMs;
  }

  /**
   * Returns the clauses of a text with their phonemes; none if nothing in it can be spoken.
   * @throws {ServiceError} `CANCELLED` after `signal`, `WORKER_LOST` if two children have failed
   */
  async read(text: string, signal: AbortSignal): Promise<ReadClause[]> {
    const clauses = clausesOf(text);
    if (clauses.length === 0) return [];
    const input = clauses.map((clause) => `${clause.text}${clause.sign}\n`).join("");
    return zip(clauses, linesOf(await this.#answerTo(input, signal)));
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting?.kill();
    this.#waiting = null;
  }

  async #answerTo(input: string, signal: AbortSignal): Promise<string> {
    for (let attempt = 1; ; attempt++) {
      if (signal.aborted) throw new ServiceError("CANCELLED", "synthesis was cancelled");
      const child = this.#waiting ?? this.#start();
      this.#waiting = null;
      const { code, stdout, stderr } = await child.answer(input, signal, this.#answerWithinMs);
      // Start it only now, because it would compete with the response for the CPU.
      if (!this.#isClosed) this.#waiting = this.#start();
      if (signal.aborted) throw new ServiceError("CANCELLED", "synthesis was cancelled");
      if (code === 0) return stdout;
      if (attempt === ATTEMPTS) {
        const cause = new Error(`espeak-ng ended with ${code ?? "a signal"}: ${stderr.trim()}`);
        throw new ServiceError("WORKER_LOST", "the text could not be turned into phonemes, try again", {
          cause,
        });
      }
    }
  }

  #start(): EspeakChild {
    return new EspeakChild(this.#programs.start(this.#command, LIMITS, ["pipe", "pipe", "pipe"]));
  }
}

/** A process for one response. While it waits, it does not keep the event loop alive. */
class EspeakChild {
  readonly #child: ChildProcess;
  readonly #ended: Promise<ChildEnd>;

  constructor(child: ChildProcess) {
    this.#child = child;
    let stdout = "";
    let stderr = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      if (stdout.length > LONGEST_ANSWER_BYTES) this.kill();
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(-STDERR_CHARACTERS);
    });
    // A dead child does not read the text; its exit is handled below.
    child.stdin?.on("error", () => {});
    this.#ended = new Promise((resolve) => {
      child.once("error", (error) => resolve({ code: null, stdout, stderr: error.message }));
      child.once("close", (code) => resolve({ code, stdout, stderr }));
    });
    this.#keepAlive(false);
  }

  /** Sends the text and waits for the child's end. */
  async answer(input: string, signal: AbortSignal, withinMs: number): Promise<ChildEnd> {
    this.#keepAlive(true);
    const kill = () => this.kill();
    const timer = setTimeout(kill, withinMs);
    signal.addEventListener("abort", kill, { once: true });
    try {
      this.#child.stdin?.end(input);
      return await this.#ended;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", kill);
    }
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  #keepAlive(isWanted: boolean): void {
    const { stdin, stdout, stderr } = this.#child;
    for (const handle of [this.#child, stdin, stdout, stderr]) {
      // A child's pipes are sockets, although their types do not say so.
      const { ref, unref } = handle as unknown as Partial<Record<"ref" | "unref", () => void>>;
      (isWanted ? ref : unref)?.call(handle);
    }
  }
}

function linesOf(answer: string): string[] {
  return answer.split("\n").filter((line) => line.trim() !== "");
}

/**
 * Pairs clauses with espeak-ng's lines. If it split the text differently, joins all of them into one clause.
 */
function zip(clauses: readonly Clause[], lines: readonly string[]): ReadClause[] {
  if (lines.length === clauses.length) {
    return clauses.map((clause, index) => ({ ...clause, ipa: lines[index]! }));
  }
  const text = clauses.map((clause) => clause.text).join(" ");
  return [{ text, sign: clauses.at(-1)!.sign, ipa: lines.join(" ") }];
}
