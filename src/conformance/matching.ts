import type { Pattern } from "./cases.js";

/** Returns how `value` differs from the pattern; null if it matches. */
export function mismatch(pattern: Pattern, value: unknown, path = ""): string | null {
  if (typeof pattern !== "object") {
    return value === pattern ? null : differs(path, JSON.stringify(pattern), value);
  }
  const wanted = pattern as Readonly<Record<string, Pattern>>;
  if (typeof wanted["is"] === "string")
    return isOfType(wanted["is"], value) ? null : differs(path, `a value of type ${wanted["is"]}`, value);
  if (wanted["only"] !== undefined) return onlyMismatch(wanted["only"], value, path);
  return membersMismatch(wanted, value, path);
}

function onlyMismatch(pattern: Pattern, value: unknown, path: string): string | null {
  const wanted = pattern as Readonly<Record<string, Pattern>>;
  const found = membersMismatch(wanted, value, path);
  if (found !== null) return found;
  const extra = Object.keys(value as object).filter((name) => !Object.hasOwn(wanted, name));
  return extra.length === 0 ? null : differs(path, `no members but ${Object.keys(wanted).join(", ")}`, value);
}

function membersMismatch(
  pattern: Readonly<Record<string, Pattern>>,
  value: unknown,
  path: string,
): string | null {
  if (value === null || typeof value !== "object") return differs(path, "an object", value);
  const members = value as Readonly<Record<string, unknown>>;
  return firstOf(
    Object.entries(pattern).map(([name, each]) =>
      mismatch(each, members[name], path === "" ? name : `${path}.${name}`),
    ),
  );
}

function isOfType(type: string, value: unknown): boolean {
  if (type === "list") return Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

function firstOf(found: readonly (string | null)[]): string | null {
  return found.find((each) => each !== null) ?? null;
}

function differs(path: string, expected: string, value: unknown): string {
  return `${path === "" ? "" : `${path}: `}expected ${expected}, received ${shown(value)}`;
}

const LONGEST_SHOWN = 300;

/** Returns a value as JSON, shortened for a report. */
export function shown(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN)}…`;
}
