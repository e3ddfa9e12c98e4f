import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { UwsBinding } from "./uws-binding.js";

/** Limit on the headers of a request. The library's own limit of 4 KiB is too small for browsers. */
const HEADER_BYTES = 16 * 1024;

/** Functions that a binding must have. One without them is another library or version. */
const NEEDED = ["App", "_cfg", "us_listen_socket_close", "us_socket_local_port"] as const;

const require = createRequire(import.meta.url);

export interface UwsPlace {
  /** Name of the package in `node_modules`. */
  readonly alias: string;
  /** Returns the path of the package's entry. @throws if the package is not installed */
  readonly entry: () => string;
}

/** At equal versions the first one wins: the operator's installation, then the repack, then the old fork. */
const PLACES: readonly UwsPlace[] = [
  { alias: "uWebSockets.js", entry: () => require.resolve("uWebSockets.js") },
  { alias: "uws-repack", entry: () => require.resolve("uws-repack") },
  { alias: "uws-fork", entry: () => require.resolve("uws-fork") },
];

export interface UnusedPackage {
  readonly package: string;
  readonly reason: string;
}

/** The binding in use or null, and why the other packages are not used. */
export type FoundUws =
  | {
      readonly binding: UwsBinding;
      /** Name in the binding's `package.json`, which also provides the version. */
      readonly package: string;
      readonly version: string;
      readonly unused: readonly UnusedPackage[];
    }
  | { readonly binding: null; readonly unused: readonly UnusedPackage[] };

let found: FoundUws | null = null;

/** Loads the newest binding that works with this platform, Node and C library. Does this only once. */
export function findUws(): FoundUws {
  found ??= findUwsIn(PLACES);
  return found;
}

/** Returns the binding that {@link findUws} found, or the reason why there is none. */
export function loadUwsBinding(): UwsBinding | string {
  const { binding, unused } = findUws();
  return binding ?? `no uWebSockets.js loads (${unused.map(toText).join("; ")})`;
}

/** Tries the packages, newest version first. */
export function findUwsIn(places: readonly UwsPlace[]): FoundUws {
  const installed: Installed[] = [];
  const unused: UnusedPackage[] = [];
  for (const place of places) {
    const one = installedAt(place);
    if ("reason" in one) unused.push(one);
    else installed.push(one);
  }
  installed.sort((one, other) => compareVersions(other.version, one.version));
  for (const [index, { folder, name, version }] of installed.entries()) {
    const binding = loadFrom(folder);
    if (typeof binding !== "string") {
      for (const { label } of installed.slice(index + 1)) {
        unused.push({ package: label, reason: "not newer" });
      }
      return { binding, package: name, version, unused };
    }
    unused.push({ package: `${name} ${version}`, reason: binding });
  }
  return { binding: null, unused };
}

export function toText({ package: name, reason }: UnusedPackage): string {
  return `${name}: ${reason}`;
}

interface Installed {
  readonly folder: string;
  readonly name: string;
  readonly version: string;
  readonly label: string;
}

function installedAt({ alias, entry }: UwsPlace): Installed | UnusedPackage {
  try {
    const folder = packageFolder(entry());
    const text = readFileSync(join(folder, "package.json"), "utf8");
    const { name, version } = JSON.parse(text) as { name: string; version: string };
    return { folder, name, version, label: `${name} ${version}` };
  } catch (thrown) {
    const isAbsent = (thrown as NodeJS.ErrnoException).code === "MODULE_NOT_FOUND";
    return { package: alias, reason: isAbsent ? "not installed" : firstLine(thrown) };
  }
}

/** Finds the nearest parent folder with a `package.json`, since a package need not export that file. */
function packageFolder(entry: string): string {
  let folder = dirname(entry);
  while (!existsSync(join(folder, "package.json")) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}

/**
 * Loads a binding without its package's own entry: the fork's entry falls back to JavaScript that behaves
 * differently, and the others hide why the binding does not load.
 */
function loadFrom(folder: string): UwsBinding | string {
  const file = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`;
  // The fork keeps its binaries in a folder; the original and its repack keep them next to package.json.
  const path = [join(folder, "binaries", file), join(folder, file)].find((one) => existsSync(one));
  if (path === undefined) return `no binary for this platform and Node ${process.versions.node}: ${file}`;
  // The library reads this once, when it is loaded.
  process.env["UWS_HTTP_MAX_HEADERS_SIZE"] ??= String(HEADER_BYTES);
  try {
    const binding = require(path) as UwsBinding;
    const missing = NEEDED.filter((name) => typeof binding[name] !== "function");
    if (missing.length > 0) return `it lacks ${missing.join(", ")}`;
    binding._cfg("silent");
    return binding;
  } catch (thrown) {
    return firstLine(thrown);
  }
}

/** Compares versions by their numbers, ignoring any suffix after a hyphen. */
function compareVersions(one: string, other: string): number {
  const [left, right] = [numbersOf(one), numbersOf(other)];
  const at = left.findIndex((number, index) => number !== right[index]);
  return at === -1 ? 0 : left[at]! - (right[at] ?? 0);
}

function numbersOf(version: string): number[] {
  return version.split("-")[0]!.split(".").map(Number);
}

function firstLine(thrown: unknown): string {
  return (thrown instanceof Error ? thrown.message : String(thrown)).split("\n")[0]!;
}
