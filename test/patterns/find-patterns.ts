import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseAst } from "vite";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** The folders whose code processes external input. */
const ROOMS = ["src", "actors", "native", "core", "scripts", "bin"];

/** Matches a stack frame in one of these folders. */
const MADE_IN = new RegExp(`^(?:dist/)?((?:${ROOMS.join("|")})/[^:]*)\\.(?:js|tsx?):(\\d+:\\d+)`);

export interface FoundPattern {
  readonly source: string;
  readonly flags: string;
  /** The file and line in the sources. */
  readonly where: string;
}

/** A place that builds a pattern from strings, whose value the sources do not show. */
export interface MadePattern {
  readonly file: string;
  readonly line: number;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [member: string]: unknown;
}

/** Finds every pattern literal, and every place that builds a pattern. */
export function writtenPatterns(): { readonly written: FoundPattern[]; readonly made: MadePattern[] } {
  const written: FoundPattern[] = [];
  const made: MadePattern[] = [];
  for (const file of sourceFiles()) {
    const text = readFileSync(join(ROOT, file), "utf8");
    const ending = file.split(".").at(-1);
    const lang = ending === "tsx" || ending === "ts" ? ending : "js";
    walk(parseAst(text, { lang, sourceType: "module" }) as unknown as Node, (node) => {
      const regex = node["regex"] as { pattern: string; flags: string } | undefined;
      if (node.type === "Literal" && regex !== undefined)
        written.push({ source: regex.pattern, flags: regex.flags, where: `${file}:${lineOf(text, node)}` });
      if (isMade(node)) made.push({ file, line: lineOf(text, node) });
    });
  }
  return { written, made };
}

function lineOf(text: string, { start }: Node): number {
  return text.slice(0, start).split("\n").length;
}

/** Recognizes `RegExp(…)`, and methods that create a pattern from a string. */
function isMade(node: Node): boolean {
  if (node.type !== "NewExpression" && node.type !== "CallExpression") return false;
  const callee = node["callee"] as Node;
  if (callee.type === "Identifier") return callee["name"] === "RegExp";
  if (callee.type !== "MemberExpression") return false;
  const name = (callee["property"] as Node)["name"];
  if (name === "RegExp") return true;
  if (name !== "match" && name !== "matchAll" && name !== "search") return false;
  const [argument] = node["arguments"] as readonly Node[];
  return argument?.type === "TemplateLiteral" || typeof argument?.["value"] === "string";
}

/**
 * Returns the patterns that modules create while they load, by file. A pattern created later is missed; its
 * file then has more such places than patterns in `made`.
 */
export async function loadedPatterns(
  files: readonly string[],
): Promise<{ readonly patterns: FoundPattern[]; readonly places: ReadonlyMap<string, ReadonlySet<string>> }> {
  const patterns: FoundPattern[] = [];
  const places = new Map<string, Set<string>>();
  const See = (pattern: RegExp) => {
    // With source maps a frame names the source file, otherwise the compiled file.
    const frames = (new Error().stack ?? "").split("\n").map((frame) => frame.split(ROOT)[1] ?? "");
    const [, file, position = ""] =
      frames.map((frame) => MADE_IN.exec(frame)).find((match) => match !== null) ?? [];
    if (file === undefined) return pattern;
    places.set(file, (places.get(file) ?? new Set()).add(position));
    patterns.push({ source: pattern.source, flags: pattern.flags, where: `${file}:${position}` });
    return pattern;
  };
  const Own = globalThis.RegExp;
  globalThis.RegExp = new Proxy(Own, {
    construct: (target, args) => See(Reflect.construct(target, args) as RegExp),
    apply: (target, self, args) => See(Reflect.apply(target, self, args) as RegExp),
  });
  try {
    for (const file of files) {
      await import(pathToFileURL(join(ROOT, "dist", file.replace(/\.tsx?$/, ".js"))).href);
    }
  } finally {
    globalThis.RegExp = Own;
  }
  return { patterns, places };
}

function sourceFiles(): string[] {
  return ROOMS.flatMap((room) =>
    readdirSync(join(ROOT, room), { recursive: true })
      .map((name) => join(room, String(name)))
      .filter((name) => /\.(?:tsx?|m?js)$/.test(name) && !/\.d\.ts$|(?:^|\/)build\//.test(name)),
  );
}

function walk(node: unknown, see: (node: Node) => void): void {
  if (typeof node !== "object" || node === null) return;
  if (Array.isArray(node)) {
    for (const child of node) walk(child, see);
    return;
  }
  if (typeof (node as Node).type === "string") see(node as Node);
  for (const child of Object.values(node)) walk(child, see);
}
