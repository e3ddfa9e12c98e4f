import { fileURLToPath } from "node:url";
import { NO_SERVICE } from "../support/command-process.js";
import { type Outcome, type RunOptions, runProgram } from "../support/run-program.js";

const PROGRAM = fileURLToPath(new URL("../../../bin/dauys.js", import.meta.url));

/**
 * Runs the command line in a separate process, as users do, but isolated from the developer's own service.
 */
export function dauys(args: readonly string[], { env = {}, ...rest }: RunOptions = {}): Promise<Outcome> {
  return runProgram(PROGRAM, args, { ...rest, env: { ...NO_SERVICE, ...env } });
}
