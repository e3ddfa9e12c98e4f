#!/usr/bin/env node
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const main = new URL("../dist/src/cli/main.js", import.meta.url);

if (existsSync(fileURLToPath(main)) || isBuilt()) {
  const { runCommandLine } = await import(main.href);
  process.exitCode = await runCommandLine(process.argv.slice(2), process.env);
} else process.exitCode = 1;

/** Builds what a fresh checkout lacks, as `npm start` does. Whether the commands are there then. */
function isBuilt() {
  process.stderr.write("dauys: building, once\n");
  const root = fileURLToPath(new URL("../", import.meta.url));
  // What it says goes to standard error: standard output is the command's.
  const { status } = spawnSync("npm", ["run", "--silent", "prestart"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (status !== 0)
    process.stderr.write("dauys: cannot build: run `npm ci` in the project's folder, then try again\n");
  return status === 0;
}
