#!/usr/bin/env node
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const main = new URL("../dist/src/cli/main.js", import.meta.url);

if (existsSync(fileURLToPath(main)) || isBuilt()) {
  const { runCommandLine } = await import(main.href);
  process.exitCode = await runCommandLine(process.argv.slice(2), process.env);
} else process.exitCode = 1;

/** Builds a fresh checkout, as `npm start` does. Returns whether the build succeeded. */
function isBuilt() {
  process.stderr.write("dauys: building, first run only\n");
  const root = fileURLToPath(new URL("../", import.meta.url));
  // The build prints to standard error: standard output belongs to the command.
  const { status } = spawnSync("npm", ["run", "--silent", "prestart"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (status !== 0)
    process.stderr.write("dauys: build failed; run `npm ci` in the project folder and try again\n");
  return status === 0;
}
