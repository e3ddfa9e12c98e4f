import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { before, test } from "node:test";
import { parseAst } from "vite";
import { CLOSE } from "../../core/domain/close-codes.js";
import { SETTINGS } from "../../src/settings/settings.js";

/**
 * The files in which facts may be stated. Commands may also read the three settings that locate a service.
 */
const HOMES = {
  close: "core/domain/close-codes.ts",
  codePoints: "core/domain/text/code-points.ts",
  names: "core/domain/errors.ts",
  settings: "src/settings/",
  commands: "src/cli/",
};
/** Of the codes up to 1000 only private ones count, because 1000 also has many other uses. */
const PRIVATE_CODES = Object.values(CLOSE).filter((code) => code > 1_000);
const CLOSERS = ["close", "stopWith", "drain"];

interface Node {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Every node of every source, with its file. */
const nodes: { readonly path: string; readonly node: Node }[] = [];

before(() => {
  for (const path of ["src", "actors", "native", "core"].flatMap(sourcesIn)) {
    const lang = extname(path) === ".tsx" ? "tsx" : "ts";
    const tree = parseAst(readFileSync(path, "utf8"), { lang, sourceType: "module" });
    walk(tree as unknown as Node, (node) => nodes.push({ path, node }));
  }
});

test("finds sources to check", () => {
  assert.ok(nodes.length > 50_000, String(nodes.length));
});

test("close codes are numbers in one file", () => {
  const copies = where(
    ({ node }) =>
      (isNumber(node) && PRIVATE_CODES.some((code) => code >= 4_000 && node["value"] === code)) ||
      (node.type === "CallExpression" && CLOSERS.includes(calleeOf(node)) && closesByNumber(node)),
  );
  assert.deepEqual([...new Set(copies)], [HOMES.close]);
});

test("code points of a text are counted in one file", () => {
  const counts = where(({ node }) => node.type === "ForOfStatement" && isCountOnly(node));
  assert.deepEqual(counts, [HOMES.codePoints]);
  assert.equal(declarations("countCodePoints").length, 1);
});

test("error names are built in one file", () => {
  assert.deepEqual(declarations("errorName"), [HOMES.names]);
  const lowered = where(
    ({ node }) =>
      node.type === "CallExpression" &&
      calleeOf(node) === "toLowerCase" &&
      /^(code|errorCode)$/.test(nameOf((node["callee"] as Node)["object"] as Node)),
  );
  assert.deepEqual(lowered, [HOMES.names]);
});

test("settings are listed in one place", () => {
  const names = SETTINGS.map(({ name }) => name);
  const copies = where(
    ({ node }) =>
      node.type === "MemberExpression" &&
      /^(env|environment)$/.test(nameOf(node["object"] as Node)) &&
      names.includes(String((node["property"] as Node)["value"] ?? nameOf(node["property"] as Node))),
  );
  const others = copies.filter(
    (path) => !path.startsWith(HOMES.settings) && !path.startsWith(HOMES.commands),
  );
  assert.deepEqual(others, []);
});

test("no code decides by the text of a message", () => {
  const prose = where(({ node }) => {
    if (node.type !== "CallExpression") return false;
    const asks = ["startsWith", "endsWith", "includes", "match", "search"].includes(calleeOf(node));
    const object = asks ? ((node["callee"] as Node)["object"] as Node) : null;
    const [argument] = node["arguments"] as readonly Node[];
    const asked = object === null ? "" : nameOf(object);
    return /^(message|detail)$/.test(asked) && / /.test(String(argument?.["value"] ?? ""));
  });
  assert.deepEqual(prose, []);
});

/** The files with nodes that match `is`. */
function where(is: (found: { readonly path: string; readonly node: Node }) => boolean): string[] {
  return nodes.filter(is).map(({ path }) => path);
}

function declarations(name: string): string[] {
  return where(
    ({ node }) => node.type === "FunctionDeclaration" && nameOf(node["id"] as Node | null) === name,
  );
}

function closesByNumber(call: Node): boolean {
  return (call["arguments"] as readonly Node[]).some(
    (argument) => isNumber(argument) && PRIVATE_CODES.some((code) => code === argument["value"]),
  );
}

/** Recognizes `for (const _ of text) count++`, a loop whose only work is to count. */
function isCountOnly(loop: Node): boolean {
  const expression = (loop["body"] as Node)["expression"] as Node | undefined;
  return expression?.type === "UpdateExpression";
}

function isNumber(node: Node): boolean {
  return node.type === "Literal" && typeof node["value"] === "number";
}

/** The last name of the called function. */
function calleeOf(call: Node): string {
  return nameOf(call["callee"] as Node);
}

/** The name of an identifier or of an accessed member. */
function nameOf(node: Node | null): string {
  if (node === null) return "";
  if (node.type === "MemberExpression") return nameOf(node["property"] as Node);
  return String(node["name"] ?? "");
}

function walk(value: unknown, visit: (node: Node) => void): void {
  if (Array.isArray(value)) for (const item of value) walk(item, visit);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return;
  if ("type" in value) visit(value as Node);
  for (const member of Object.values(value)) walk(member, visit);
}

function sourcesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name) && !name.endsWith(".d.ts"))
    .map((name) => join(folder, name));
}
