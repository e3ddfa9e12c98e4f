// Runs command lines one after another in this process, because starting a process takes longer than a
// command. Standard input has one line of JSON with `args` and `env` for each command; the response is a line
// with `code`, `stdout` and `stderr`.
import { createInterface } from "node:readline/promises";
import { runCommandLine } from "../../src/cli/main.js";

interface Asked {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const answer = process.stdout.write.bind(process.stdout);
let collected = { stdout: "", stderr: "" };
for (const name of ["stdout", "stderr"] as const) {
  process[name].write = (text: string | Uint8Array) => {
    collected[name] += String(text);
    return true;
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { args, env } = JSON.parse(line) as Asked;
  collected = { stdout: "", stderr: "" };
  const code = await runCommandLine(args, env);
  answer(`${JSON.stringify({ code, ...collected })}\n`);
}
