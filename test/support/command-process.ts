import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { createInterface } from "node:readline/promises";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Outcome } from "./run-program.js";

const PROGRAM = fileURLToPath(new URL("./run-commands.js", import.meta.url));

/** Commands read the key of a service that runs beside them: here none does, whatever lies in `./data`. */
export const NO_SERVICE = { DATA_DIR: "build/no-data-of-a-service" } as const;

/** Ends with its standard input, as it is closed when this process ends. */
let running: {
  readonly child: ChildProcessByStdio<Writable, Readable, null>;
  next(): Promise<string>;
} | null = null;
let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command line in a process that all of this test share, one after another: most of what each costs by
 * itself is the start of a process. `dauys` of `cli/support` runs it as its users do.
 */
export function dauysInTurn(
  args: readonly string[],
  { env = {} }: { readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Outcome> {
  const answer = last.then(async () => {
    running ??= start();
    const { child, next } = running;
    // While nothing is asked the process holds no test back from its end.
    for (const part of [child, child.stdin as Socket, child.stdout as Socket]) part.ref();
    child.stdin.write(`${JSON.stringify({ args, env: { ...NO_SERVICE, ...env } })}\n`);
    const outcome = JSON.parse(await next()) as Outcome;
    for (const part of [child, child.stdin as Socket, child.stdout as Socket]) part.unref();
    return outcome;
  });
  last = answer.catch(() => {});
  return answer;
}

function start() {
  const child = spawn(process.execPath, [PROGRAM], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`the process of commands ended with ${child.exitCode}`);
    return value as string;
  };
  return { child, next };
}
