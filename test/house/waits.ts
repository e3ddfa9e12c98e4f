import { type Node, parseSync } from "oxc-parser";

/** A use of time in a test that belongs in `test/support/pace.ts` or `eventually.ts`. */
export interface WaitFinding {
  readonly kind: "sleep" | "comparison of times";
  readonly line: number;
}

const SLEEPING_MODULES = ["node:timers/promises", "timers/promises"];

/**
 * Finds sleeps (`node:timers/promises`, `setTimeout` with a delay) and assertions that compare times. These
 * compare with `performance.now()` or `Date.now()`, or with a name assigned from one of the two.
 */
export function waitsOf(path: string, text: string): readonly WaitFinding[] {
  const { program, module } = parseSync(path, text);
  const found: WaitFinding[] = [];
  const add = (kind: WaitFinding["kind"], { start }: { start: number }) =>
    found.push({ kind, line: text.slice(0, start).split("\n").length });
  for (const request of module.staticImports) {
    const sleeps = request.entries.some(({ importName }) => importName.name !== "setImmediate");
    if (sleeps && SLEEPING_MODULES.includes(request.moduleRequest.value)) add("sleep", request);
  }
  const clocks = new Set<string>();
  visit(program, (node) => {
    if (node.type === "VariableDeclarator" && node.id.type === "Identifier" && readsClock(node.init, clocks))
      clocks.add(node.id.name);
    if (
      node.type === "AssignmentExpression" &&
      node.left.type === "Identifier" &&
      readsClock(node.right, clocks)
    )
      clocks.add(node.left.name);
    if (node.type === "CallExpression" && isSleep(node)) add("sleep", node);
    if (
      node.type === "CallExpression" &&
      isAssertion(node) &&
      node.arguments.some((each) => comparesTimes(each, clocks))
    )
      add("comparison of times", node);
  });
  return found;
}

/** Returns whether this is a `setTimeout` for longer than a turn of the event loop. */
function isSleep({ callee, arguments: given }: Extract<Node, { type: "CallExpression" }>): boolean {
  const name = callee.type === "MemberExpression" ? nameOf(callee.property) : nameOf(callee);
  const isOfGlobal =
    callee.type === "Identifier" ||
    (callee.type === "MemberExpression" && nameOf(callee.object) === "globalThis");
  const delay = given[1];
  return (
    isOfGlobal &&
    name === "setTimeout" &&
    !(delay === undefined || (delay.type === "Literal" && delay.value === 0))
  );
}

function isAssertion({ callee }: Extract<Node, { type: "CallExpression" }>): boolean {
  return (
    nameOf(callee) === "assert" || (callee.type === "MemberExpression" && nameOf(callee.object) === "assert")
  );
}

function comparesTimes(node: Node, clocks: ReadonlySet<string>): boolean {
  let isFound = false;
  visit(node, (inner) => {
    if (inner.type !== "BinaryExpression" || !["<", ">", "<=", ">="].includes(inner.operator)) return;
    if (readsClock(inner.left, clocks) || readsClock(inner.right, clocks)) isFound = true;
  });
  return isFound;
}

/** Functions read the clock later, and are checked where they are called. */
function readsClock(node: Node | null, clocks: ReadonlySet<string>): boolean {
  if (node === null || node.type === "ArrowFunctionExpression" || node.type === "FunctionExpression")
    return false;
  let reads = false;
  visit(node, (inner) => {
    if (inner.type === "Identifier" && clocks.has(inner.name)) reads = true;
    if (inner.type !== "CallExpression" || inner.callee.type !== "MemberExpression") return;
    const { object, property } = inner.callee;
    if (nameOf(property) === "now" && ["performance", "Date"].includes(nameOf(object) ?? "")) reads = true;
  });
  return reads;
}

function nameOf(node: Node): string | null {
  return node.type === "Identifier" ? node.name : null;
}

function visit(node: Node, see: (node: Node) => void): void {
  see(node);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child === "object" && child !== null && "type" in child) visit(child as Node, see);
    }
  }
}
