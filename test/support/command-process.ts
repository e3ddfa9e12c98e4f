import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { createInterface } from "node:readline/promises";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Outcome } from "./run-program.js";

const PROGRAM = fileURLToPath(new URL("./run-commands.js", import.meta.url));

/** Keeps commands from using the key of a service in `./data`. */
export const NO_SERVICE = { DATA_DIR: "build/no-data-of-a-service" } as const;

/** The process that runs commands. It ends with this process, when its standard input closes. */
let running: {
  readonly child: ChildProcessByStdio<Writable, Readable, null>;
  next(): Promise<string>;
} | null = null;
let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command line in a process that all tests of this process share, one after another, because most of a
 * command's time is the start of its process. `dauys` of `cli/support` starts a process for each command, as
 * users do.
 */
export function dauysInTurn(
  args: readonly string[],
  { env = {} }: { readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Outcome> {
  const answer = last.then(async () => {
    running ??= start();
    const { child, next } = running;
    // An idle command process must not keep the tests running.
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
