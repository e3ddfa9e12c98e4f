import { readdirSync, readFileSync } from "node:fs";
import { join, posix, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { FLOORS, type Sources } from "./findings.js";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** Source code in `floors`. Installed packages and compiled addons belong to no module. */
export function readSources(floors: readonly string[] = FLOORS): Sources {
  const sources = new Map<string, string>();
  for (const floor of floors) {
    for (const name of readdirSync(join(ROOT, floor), { recursive: true, encoding: "utf8" })) {
      const path = posix.join(floor, name.split(sep).join("/"));
      if (!/\.[cm]?[jt]sx?$/.test(path) || /(^|\/)(node_modules|build)\//.test(path)) continue;
      sources.set(path, readFileSync(join(ROOT, path), "utf8"));
    }
  }
  return sources;
}
