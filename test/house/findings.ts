import { builtinModules } from "node:module";
import { posix } from "node:path";
import { COMPUTED, readImports, UNREADABLE } from "./imports.js";
import { MODULES, type Module, NODE_GROUPS } from "./modules.js";

/**
 * The folders whose files are checked. Every file of ours that these files import must be in a module too.
 */
export const FLOORS = ["src", "actors", "native", "core", "bench", "bin", "scripts"];

/** Source files by their path from the repository's root, written with `/`. */
export type Sources = ReadonlyMap<string, string>;

/**
 * Lists what the imports of `sources` violate, one line each: files and folders without a module, imports and
 * packages that the module's row does not allow, missing worker entries, and import cycles. Returns an empty
 * list if there are none.
 */
export function findings(sources: Sources): readonly string[] {
  const found: string[] = [];
  const arrows = new Map<string, readonly string[]>();
  for (const [path, text] of sources) {
    const module = moduleOf(path);
    if (module === null) found.push(`${path}: its folder is no module of test/house/modules.ts`);
    const targets: string[] = [];
    for (const specifier of importsOf(path, text)) {
      const target = isOurs(specifier) ? resolve(sources, path, specifier) : null;
      const complaint =
        target === null ? packageComplaint(module, specifier) : arrowComplaint(sources, module, target);
      if (complaint !== null) found.push(`${path}: ${complaint}`);
      // A forbidden import is reported once, without the cycles that it closes.
      else if (target !== null && sources.has(target)) targets.push(target);
    }
    arrows.set(path, targets);
  }
  return [...found, ...circles(arrows).map((files) => `circle: ${files.join(" → ")}`)].sort();
}

/** Returns the module of a file: the one with the longest matching path. */
function moduleOf(path: string): Module | null {
  const isIn = (folder: string) =>
    folder.endsWith("/**")
      ? path.startsWith(folder.slice(0, -2))
      : path === folder || posix.dirname(path) === folder;
  return MODULES.find((module) => module.folders.some(isIn)) ?? null;
}

/** Returns the name that the table uses: a package without its subpath, a Node module as its group. */
function packageName(specifier: string): string {
  const module = specifier.replace(/^node:/, "");
  const group = Object.keys(NODE_GROUPS).find((name) => NODE_GROUPS[name]?.includes(module));
  if (group !== undefined) return group;
  if (specifier.startsWith("node:") || builtinModules.includes(module)) return `node:${module}`;
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

/**
 * The imports of each file, by its text. A virtual copy shares nearly all files with the tree, and parsing
 * takes most of the time.
 */
const READ = new Map<string, readonly string[]>();

function importsOf(path: string, text: string): readonly string[] {
  const key = `${path}\n${text}`;
  const known = READ.get(key) ?? readImports(path, text);
  READ.set(key, known);
  return known;
}

function isOurs(specifier: string): boolean {
  return /^\.{1,2}(\/|$)/.test(specifier);
}

/**
 * Resolves a relative specifier to a path. The compiler writes `x.ts` as `dist/…/x.js`, so `dist/` is not
 * part of a path, and an address that leaves the tree by one step is next to `dist`.
 */
function resolve(sources: Sources, from: string, specifier: string): string {
  const path = posix
    .normalize(posix.join(posix.dirname(from), specifier.replace(/\?.*$/, "")))
    .replace(/^(\.\.\/)+/, "")
    .replace(/^dist\//, "");
  const candidates = [path, path.replace(/js$/, "ts"), path.replace(/js$/, "tsx")];
  return candidates.find((candidate) => sources.has(candidate)) ?? path;
}

function arrowComplaint(sources: Sources, module: Module | null, target: string): string | null {
  const to = moduleOf(target);
  if (/\.[cm]?[jt]sx?$/.test(target) && to !== null && !sources.has(target)) {
    return `imports ${target}, which is not there`;
  }
  const name = to?.name ?? target.split("/")[0] ?? target;
  if ((to !== null && to === module) || module?.imports.includes(name)) return null;
  return `imports ${target}, and ${module?.name ?? "its folder"} may not import ${name}`;
}

function packageComplaint(module: Module | null, specifier: string): string | null {
  if (specifier === UNREADABLE) return "does not parse";
  const name = packageName(specifier);
  if (module?.packages.includes(name)) return null;
  const what = specifier === COMPUTED ? "something that only the run knows" : specifier;
  return `imports ${what}, and ${module?.name ?? "its folder"} may not import ${name}`;
}

/**
 * Finds the shortest path from each file back to itself. Each cycle is listed once, starting with its first
 * file by name.
 */
function circles(arrows: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const found = new Map<string, readonly string[]>();
  for (const file of arrows.keys()) {
    const way = shortestWayBack(arrows, file);
    if (way === null) continue;
    const first = way.indexOf([...way].sort()[0] ?? file);
    const circle = [...way.slice(first), ...way.slice(0, first + 1)];
    found.set(circle.join(), circle);
  }
  return [...found.values()];
}

function shortestWayBack(
  arrows: ReadonlyMap<string, readonly string[]>,
  file: string,
): readonly string[] | null {
  const cameFrom = new Map<string, string>();
  const queue = [file];
  for (const at of queue) {
    for (const next of arrows.get(at) ?? []) {
      if (next === file) return wayTo(cameFrom, file, at);
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, at);
      queue.push(next);
    }
  }
  return null;
}

function wayTo(cameFrom: ReadonlyMap<string, string>, start: string, end: string): readonly string[] {
  const way = [end];
  for (let at = end; at !== start; ) {
    at = cameFrom.get(at) ?? start;
    way.unshift(at);
  }
  return way;
}
