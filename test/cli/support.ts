import { fileURLToPath } from "node:url";
import { NO_SERVICE } from "../support/command-process.js";
import { type Outcome, type RunOptions, runProgram } from "../support/run-program.js";

const PROGRAM = fileURLToPath(new URL("../../../bin/dauys.js", import.meta.url));

/** Runs the command line as its users do, as a process of its own, and beside no service of the developer's. */
export function dauys(args: readonly string[], { env = {}, ...rest }: RunOptions = {}): Promise<Outcome> {
  return runProgram(PROGRAM, args, { ...rest, env: { ...NO_SERVICE, ...env } });
}
