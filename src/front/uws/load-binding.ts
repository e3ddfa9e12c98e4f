import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { UwsBinding } from "./uws-binding.js";

/** Requests may carry this many bytes of headers; the library's own bound of 4 KiB is too small for browsers. */
const HEADER_BYTES = 16 * 1024;

/** What is called on a binding when it is set up; one without them is another library, or another age of this one. */
const NEEDED = ["App", "_cfg", "us_listen_socket_close", "us_socket_local_port"] as const;

const require = createRequire(import.meta.url);

/** A place where a package with bindings may lie. */
export interface UwsPlace {
  /** How it is installed: the name under which npm puts it into `node_modules`. */
  readonly alias: string;
  /** Path of its entry, which says where it lies. @throws when it is not installed */
  readonly entry: () => string;
}

/** At equal versions the first of them is taken: what the operator installed, then the repack, then the old fork. */
const PLACES: readonly UwsPlace[] = [
  { alias: "uWebSockets.js", entry: () => require.resolve("uWebSockets.js") },
  { alias: "uws-repack", entry: () => require.resolve("uws-repack") },
  { alias: "uws-fork", entry: () => require.resolve("uws-fork") },
];

/** A package that is not the front's, and why. */
export interface PassedBy {
  readonly package: string;
  readonly reason: string;
}

/** The binding in use, or null, and what became of the other packages. */
export type FoundUws =
  | {
      readonly binding: UwsBinding;
      /** As its own `package.json` has them. */
      readonly package: string;
      readonly version: string;
      readonly passedBy: readonly PassedBy[];
    }
  | { readonly binding: null; readonly passedBy: readonly PassedBy[] };

let found: FoundUws | null = null;

/** Loads the newest binding that loads on this platform, Node and C library; the same one whenever it is asked. */
export function findUws(): FoundUws {
  found ??= findUwsIn(PLACES);
  return found;
}

/** The binding that {@link findUws} finds, or why there is none. */
export function loadUwsBinding(): UwsBinding | string {
  const { binding, passedBy } = findUws();
  return binding ?? `no uWebSockets.js loads (${passedBy.map(toText).join("; ")})`;
}

/** Tries the packages in the order of their versions, newest first. */
export function findUwsIn(places: readonly UwsPlace[]): FoundUws {
  const installed: Installed[] = [];
  const passedBy: PassedBy[] = [];
  for (const place of places) {
    const one = installedAt(place);
    if ("reason" in one) passedBy.push(one);
    else installed.push(one);
  }
  installed.sort((one, other) => compareVersions(other.version, one.version));
  for (const [index, { folder, name, version }] of installed.entries()) {
    const binding = loadFrom(folder);
    if (typeof binding !== "string") {
      for (const { label } of installed.slice(index + 1)) {
        passedBy.push({ package: label, reason: "not newer" });
      }
      return { binding, package: name, version, passedBy };
    }
    passedBy.push({ package: `${name} ${version}`, reason: binding });
  }
  return { binding: null, passedBy };
}

export function toText({ package: name, reason }: PassedBy): string {
  return `${name}: ${reason}`;
}

interface Installed {
  readonly folder: string;
  readonly name: string;
  readonly version: string;
  readonly label: string;
}

function installedAt({ alias, entry }: UwsPlace): Installed | PassedBy {
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

/** The nearest folder above with a `package.json`, which a package need not export. */
function packageFolder(entry: string): string {
  let folder = dirname(entry);
  while (!existsSync(join(folder, "package.json")) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}

/**
 * The packages' own entries are passed by: where its binding does not load the fork's falls back to JavaScript with other
 * behaviour, and the others' say only that something is not supported.
 */
function loadFrom(folder: string): UwsBinding | string {
  const file = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`;
  // The fork keeps its binaries in a folder, the original and its repack beside their package.json.
  const path = [join(folder, "binaries", file), join(folder, file)].find((one) => existsSync(one));
  if (path === undefined) return `no binary for this platform and Node ${process.versions.node}: ${file}`;
  // Read once, when the library is loaded.
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

/** By their numbers; what stands behind a hyphen counts for nothing. */
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
