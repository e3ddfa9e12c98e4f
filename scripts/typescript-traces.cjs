// Loaded by every process that tests start: traces name lines of TypeScript. `--enable-source-maps` does the same, and reads
// the map of each module that is loaded; here a map is read when a trace is looked at that passes through its module.
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

/** A frame as it is told, with the place in the sources for the compiled one. */
function inSources(frame) {
  const told = frame.toString();
  const file = frame.getFileName();
  if (typeof file !== "string" || !file.startsWith("file:") || file.includes("/node_modules/")) return told;
  const path = fileURLToPath(file);
  const [line, column] = [frame.getLineNumber(), frame.getColumnNumber()];
  const found = mapOf(path)?.findEntry(line - 1, column - 1);
  if (found?.originalSource === undefined) return told;
  const source = resolve(dirname(path), found.originalSource);
  const place = `${source}:${found.originalLine + 1}:${found.originalColumn + 1}`;
  return told.replace(`${file}:${line}:${column}`, () => place);
}

function mapOf(path) {
  if (!maps.has(path)) maps.set(path, readMap(`${path}.map`));
  return maps.get(path);
}

/** Without descriptors, say, there is no map: code that looks at a trace must not meet an exception of ours. */
function readMap(path) {
  try {
    return existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, "utf8"))) : null;
  } catch {
    return null;
  }
}
