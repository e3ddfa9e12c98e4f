// Loaded by every process of a test run: stack traces show lines of TypeScript. `--enable-source-maps` does
// the same, but reads the map of every loaded module; this reads a map only when a trace passes through its
// module.
"use strict";
const { existsSync, readFileSync } = require("node:fs");
const { SourceMap } = require("node:module");
const { dirname, resolve } = require("node:path");
const { fileURLToPath } = require("node:url");

const maps = new Map();

Error.prepareStackTrace = (error, frames) => {
  const head = Error.prototype.toString.call(error);
  return [head, ...frames.map((frame) => `    at ${inSources(frame)}`)].join("\n");
};

/** Formats a frame with its position in the source. */
function inSources(frame) {
  const shown = frame.toString();
  const file = frame.getFileName();
  if (typeof file !== "string" || !file.startsWith("file:") || file.includes("/node_modules/")) return shown;
  const path = fileURLToPath(file);
  const [line, column] = [frame.getLineNumber(), frame.getColumnNumber()];
  const found = mapOf(path)?.findEntry(line - 1, column - 1);
  if (found?.originalSource === undefined) return shown;
  const source = resolve(dirname(path), found.originalSource);
  const place = `${source}:${found.originalLine + 1}:${found.originalColumn + 1}`;
  return shown.replace(`${file}:${line}:${column}`, () => place);
}

function mapOf(path) {
  if (!maps.has(path)) maps.set(path, readMap(`${path}.map`));
  return maps.get(path);
}

/** Returns null if a map is unreadable, as without free file descriptors: reading a stack must not throw. */
function readMap(path) {
  try {
    return existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, "utf8"))) : null;
  } catch {
    return null;
  }
}
