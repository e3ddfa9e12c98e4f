import { writeSync } from "node:fs";
import { reasonOf } from "./failures.js";

/** The exit code that a shell reports after SIGPIPE. */
const READER_LEFT = 141;
const FAILED = 1;

let isGuarded = false;
let isReported = false;

/**
 * Ends the program silently when the reader of its output has exited (`dauys orgs list | head`), and with a message when
 * the output cannot be written. Failures of standard error are ignored.
 */
export function guardStandardStreams(): void {
  if (isGuarded) return;
  isGuarded = true;
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") readerLeft();
    if (isReported) return;
    note(`dauys: cannot write to standard output: ${reasonOf(error)}\n`);
    process.exit(FAILED);
  });
  process.stderr.on("error", () => {});
}

/** Ends the program as SIGPIPE would. */
export function readerLeft(): never {
  process.exit(READER_LEFT);
}

/** Leaves write errors of standard output to the caller; a closed pipe still ends the program. */
export function reportOutputErrorsYourself(): void {
  isReported = true;
}

/** Writes synchronously, because the program exits next. */
function note(text: string): void {
  try {
    writeSync(2, text);
  } catch {
    // Standard error is closed too.
  }
}
