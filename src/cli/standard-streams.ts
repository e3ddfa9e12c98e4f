import { writeSync } from "node:fs";
import { reasonOf } from "./failures.js";

/** As a shell reports a program whose reader has left: 128 and the number of SIGPIPE. */
const READER_LEFT = 141;
const FAILED = 1;

let isGuarded = false;
let isReported = false;

/**
 * Ends the program when nobody reads its output any more (`dauys orgs list | head`), without a word, and when the output
 * cannot be written, with one. What is written to standard error and read by nobody is lost.
 */
export function guardStandardStreams(): void {
  if (isGuarded) return;
  isGuarded = true;
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") readerLeft();
    if (isReported) return;
    note(`dauys: Cannot write to standard output: ${reasonOf(error)}\n`);
    process.exit(FAILED);
  });
  process.stderr.on("error", () => {});
}

/** Ends the program as one that is told by SIGPIPE. */
export function readerLeft(): never {
  process.exit(READER_LEFT);
}

/** From here on the code that writes to standard output reports what fails; a reader that leaves still ends the program. */
export function reportOutputErrorsYourself(): void {
  isReported = true;
}

/** Written before the program ends, whatever stream standard error is. */
function note(text: string): void {
  try {
    writeSync(2, text);
  } catch {
    // Nobody is there to be told.
  }
}
