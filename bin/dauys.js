#!/usr/bin/env node
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const main = new URL("../dist/src/cli/main.js", import.meta.url);

if (existsSync(fileURLToPath(main))) {
  const { runCommandLine } = await import(main.href);
  process.exitCode = await runCommandLine(process.argv.slice(2), process.env);
} else {
  process.stderr.write("dauys: not built yet: run `npm run build` in the project's folder\n");
  process.exitCode = 1;
}
