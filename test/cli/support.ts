import { fileURLToPath } from "node:url";
import { type Outcome, type RunOptions, runProgram } from "../support/run-program.js";

const PROGRAM = fileURLToPath(new URL("../../../bin/dauys.js", import.meta.url));

/** Runs the command line as its users do, as a process of its own. */
export function dauys(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  return runProgram(PROGRAM, args, options);
}
