// Fetches Node's own binaries from npm into .cache, pinned by scripts/runtimes/package-lock.json.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL("./", import.meta.url));
const FOLDER = fileURLToPath(new URL("../../.cache/runtimes/nodes/", import.meta.url));
const WITHIN_MS = 300_000;

/** Major versions of Node that are tested; package.json has the exact versions. */
export const NODES = [20, 22, 24];

/** Returns the path of a Node executable; null if it has not been fetched. */
export function nodePath(major) {
  const path = join(FOLDER, "node_modules", `node-${major}`, "bin/node");
  return existsSync(path) && isPinned(major) ? path : null;
}

/** Returns whether npm has Node packages for this machine. */
export function hasNodes() {
  return process.platform === "linux" && process.arch === "x64";
}

/** Fetches missing versions; Node 20 only if it is requested. @throws if npm fails */
export function fetchNodes(majors = NODES) {
  if (!hasNodes()) return console.log("skipped: the pinned Node binaries are only for x64 Linux");
  if (majors.every((major) => nodePath(major) !== null)) return;
  mkdirSync(FOLDER, { recursive: true });
  for (const name of ["package.json", "package-lock.json"]) cpSync(join(here, name), join(FOLDER, name));
  const without20 = majors.includes(20) ? [] : ["--omit=optional"];
  const { status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--ignore-scripts", ...without20], {
    cwd: FOLDER,
    stdio: ["ignore", "ignore", "inherit"],
    timeout: WITHIN_MS,
  });
  if (status !== 0) throw new Error(`npm ci in ${FOLDER} ended with ${status}`);
}

function isPinned(major) {
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
  const wanted = { ...dependencies, ...optionalDependencies }[`node-${major}`];
  const manifest = join(FOLDER, "node_modules", `node-${major}`, "package.json");
  return existsSync(manifest) && wanted.endsWith(`@${JSON.parse(readFileSync(manifest, "utf8")).version}`);
}
