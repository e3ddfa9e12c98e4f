import { type Node, parseSync } from "oxc-parser";

/** Stands for an `import()` or `require()` whose target is known only at run time. */
export const COMPUTED = "(computed)";

/** Returned by {@link readImports} for text that does not parse; no table allows it. */
export const UNREADABLE = "(unreadable)";

/**
 * Reads every specifier of a source file once: static imports and `export from` (types too), `import("…")` as
 * an expression and as a type, `import x = require("…")`, `require("…")` however it was created,
 * `require.resolve` and `import.meta.resolve`, `process.getBuiltinModule("…")`, `new URL("…",
 * import.meta.url)`, and the `<reference path>` and `<reference types>` of bundled pages.
 *
 * @param path its extension determines whether `text` is TypeScript, TSX or JavaScript
 */
export function readImports(path: string, text: string): readonly string[] {
  const { module, program, errors, comments } = parseSync(path, text);
  if (errors.length > 0) return [UNREADABLE];
  const found = new Set<string>();
  for (const { moduleRequest } of module.staticImports) found.add(moduleRequest.value);
  for (const { entries } of module.staticExports) {
    for (const { moduleRequest } of entries) if (moduleRequest !== null) found.add(moduleRequest.value);
  }
  for (const { value } of comments) {
    const reference = /^\/\s*<reference\s+(?:path|types)\s*=\s*["']([^"']+)["']/.exec(value)?.[1];
    if (reference !== undefined) found.add(reference);
  }
  visit(program, (node) => {
    const specifier = specifierOf(node);
    if (specifier !== null) found.add(specifier);
  });
  return [...found];
}

/**
 * Returns the module that a node imports, {@link COMPUTED} if it is known only at run time, or null for none.
 */
function specifierOf(node: Node): string | null {
  switch (node.type) {
    case "ImportExpression":
      return literal(node.source);
    case "TSImportType":
      return literal(node.source);
    case "TSExternalModuleReference":
      return literal(node.expression);
    case "CallExpression":
      return asksForModule(node.callee) ? literal(node.arguments[0]) : null;
    case "NewExpression": {
      const [target, base] = node.arguments;
      if (!isNamed(node.callee, "URL") || base === undefined || !isImportMeta(base, "url")) return null;
      // Other `new URL` addresses next to a file are folders and data.
      const text = literal(target);
      return /\.[cm]?[jt]sx?($|\?)/.test(text) ? text : null;
    }
    default:
      return null;
  }
}

/**
 * Recognizes `require(…)`, `createRequire(…)(…)`, `.resolve(…)` of either or of `import.meta`, and
 * `process.getBuiltinModule(…)`.
 */
function asksForModule(callee: Node): boolean {
  if (isRequire(callee) || isImportMeta(callee, "resolve")) return true;
  if (callee.type !== "MemberExpression") return false;
  if (isNamed(callee.property, "getBuiltinModule")) return true;
  return isNamed(callee.property, "resolve") && isRequire(callee.object);
}

function isRequire(node: Node): boolean {
  return (
    isNamed(node, "require") || (node.type === "CallExpression" && isNamed(node.callee, "createRequire"))
  );
}

function isImportMeta(node: Node, property: string): boolean {
  return (
    node.type === "MemberExpression" &&
    node.object.type === "MetaProperty" &&
    isNamed(node.property, property)
  );
}

function isNamed(node: Node, name: string): boolean {
  return node.type === "Identifier" && node.name === name;
}

function literal(node: Node | undefined): string {
  if (node?.type === "Literal" && typeof node.value === "string") return node.value;
  const only = node?.type === "TemplateLiteral" && node.expressions.length === 0 ? node.quasis[0] : undefined;
  return only?.value.cooked ?? COMPUTED;
}

function visit(value: unknown, see: (node: Node) => void): void {
  if (Array.isArray(value)) {
    for (const one of value) visit(one, see);
  } else if (typeof value === "object" && value !== null) {
    if ("type" in value) see(value as Node);
    for (const one of Object.values(value)) visit(one, see);
  }
}
