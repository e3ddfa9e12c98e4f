import { writeSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import { CommandError, printNote } from "./command.js";
import { reasonOf } from "./failures.js";
import { keptElsewhere } from "./result-file.js";

/** The exit code that a shell reports after SIGPIPE. */
const READER_LEFT = 141;
const FAILED = 1;

let isGuarded = false;
let isReportedByCaller = false;

/**
 * Ends the program silently if the reader of its output has exited (`dauys orgs list | head`), and with a
 * message if the output cannot be written. Failures of standard error are ignored.
 */
export function guardStandardStreams(): void {
  if (isGuarded) return;
  isGuarded = true;
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(READER_LEFT);
    if (isReportedByCaller) return;
    try {
      // Written synchronously, because the program exits next.
      writeSync(2, `dauys: cannot write to standard output: ${reasonOf(error)}\n`);
    } catch {
      // Standard error is closed too, so nothing can be reported.
    }
    process.exit(FAILED);
  });
  process.stderr.on("error", () => {});
}

/** Reads text to its end, even from a terminal. */
export async function readTypedInput(): Promise<Buffer> {
  if (process.stdin.isTTY) printNote("reading text from the keyboard; press Ctrl-D to finish");
  return await buffer(process.stdin);
}

/** Reads a recording to its end. @throws {CommandError} if standard input is a terminal */
export async function readPipedInput(): Promise<Buffer> {
  requirePipedInput();
  return await buffer(process.stdin);
}

/** @throws {CommandError} if standard input is a terminal */
export function requirePipedInput(): void {
  if (process.stdin.isTTY)
    throw new CommandError("standard input is a terminal; specify a file, or pipe audio into the command");
}

/** Writes audio to standard output as it arrives. A closed pipe ends the program. */
export class StandardOutput {
  #failure: unknown = null;

  constructor() {
    isReportedByCaller = true;
  }

  /**
   * Remembers a failure until the end, because the rest of the audio is already charged and still arriving.
   */
  async part(bytes: Uint8Array): Promise<void> {
    if (this.#failure !== null) return;
    await new Promise<void>((settle) => {
      process.stdout.write(bytes, (error) => {
        if (error != null) this.#failure = error;
        settle();
      });
    });
    if ((this.#failure as NodeJS.ErrnoException | null)?.code === "EPIPE") process.exit(READER_LEFT);
  }

  /** @throws {CommandError} with the place where unwritten audio was saved */
  async write(audio: Uint8Array): Promise<void> {
    if (this.#failure !== null)
      throw await keptElsewhere("standard output", audio, { kind: "sound", cause: this.#failure });
  }

  async abandon(): Promise<void> {}
}
