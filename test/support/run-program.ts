import { spawn } from "node:child_process";
import { once } from "node:events";

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** The environment besides `PATH`. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
}

/** Runs a Node program to its end in a separate process. */
export async function runProgram(
  program: string,
  args: readonly string[],
  { env = {}, stdin = "" }: RunOptions = {},
): Promise<Outcome> {
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env["PATH"] ?? "", ...env },
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.stdin.on("error", () => {}).end(stdin);
  const [code] = (await once(child, "close")) as [number];
  return { code, stdout, stderr };
}
