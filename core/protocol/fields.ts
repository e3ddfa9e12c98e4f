import { z } from "zod";
import { type ErrorCode, ServiceError } from "../domain/errors.js";
import { nearestName } from "../domain/text/nearest-name.js";

/** The type of parsed data, which is immutable. */
export type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T;

interface Broken {
  readonly input?: unknown;
}

/** Parses a JSON body. @throws {ServiceError} `INVALID_REQUEST` when it is not JSON in UTF-8 */
export function parseJsonBody(bytes: Uint8Array): unknown {
  if (bytes.length === 0)
    throw new ServiceError("INVALID_REQUEST", "the body must be a JSON object, received an empty body");
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    // The parser's message quotes the body, which may be private.
    throw new ServiceError("INVALID_REQUEST", "the body must be valid JSON in UTF-8", { cause });
  }
}

/**
 * Parses `value` by its schema, and drops members that are not in it, unless the schema rejects them.
 *
 * @throws {ServiceError} for the first broken rule, with the field, the rule and the value
 */
export function parseWith<T extends z.ZodType>(schema: T, value: unknown): DeepReadonly<z.output<T>> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data as DeepReadonly<z.output<T>>;
  const [issue] = result.error.issues;
  throw new ServiceError(codeOf(issue), issue?.message ?? "the request is invalid", {
    param: issue?.path[0]?.toString(),
  });
}

/** An object in a JSON body, without other members. */
export function body<T extends z.core.$ZodLooseShape>(shape: T) {
  const notObject = typeRule("the body", "a JSON object");
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === "unrecognized_keys"
        ? unknownNameRule("field", (issue["keys"] as readonly string[])[0]!, Object.keys(shape))
        : notObject(issue),
  });
}

/** An object in a JSON body that may have other members. */
export function looseBody<T extends z.core.$ZodLooseShape>(shape: T) {
  return z.object(shape, { error: typeRule("the body", "a JSON object") });
}

/** A field that may be absent or null, which mean the same. */
export function given<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => value ?? undefined, schema);
}

/** A string; null by default. */
export function optionalString(name: string) {
  return given(
    z
      .string({ error: typeRule(name, "a string") })
      .nullable()
      .default(null),
  );
}

export interface NumberRule {
  readonly min: number;
  readonly max: number;
  readonly otherwise: number;
}

export function number(name: string, { min, max, otherwise }: NumberRule) {
  const error = rangeRule(name, "a number", `${min} to ${max}`);
  return given(z.number({ error }).min(min, { error }).max(max, { error }).default(otherwise));
}

export function integer(name: string, { min, max, otherwise }: NumberRule) {
  const error = rangeRule(name, "an integer", `an integer from ${min} to ${max}`);
  return given(z.int({ error }).min(min, { error }).max(max, { error }).default(otherwise));
}

/** An integer; null by default. */
export function optionalInteger(name: string, { min, max }: Pick<NumberRule, "min" | "max">) {
  const error = rangeRule(name, "an integer", `an integer from ${min} to ${max}`);
  return given(z.int({ error }).min(min, { error }).max(max, { error }).nullable().default(null));
}

export function boolean(name: string, otherwise: boolean) {
  return given(z.boolean({ error: typeRule(name, "true or false") }).default(otherwise));
}

/** A boolean; absent by default. */
export function optionalBoolean(name: string) {
  return given(z.boolean({ error: typeRule(name, "true or false") }).optional());
}

/** One of `names`; other values fail with `code`. */
export function oneOf<const Name extends string>(
  name: string,
  names: readonly Name[],
  { otherwise, code }: { readonly otherwise: NoInfer<Name>; readonly code: ErrorCode },
) {
  const known = z
    .string({ error: typeRule(name, "a string") })
    .meta({ enum: [...names] })
    .transform((value, context): Name => {
      const found = names.find((candidate) => candidate === value);
      if (found !== undefined) return found;
      const message = `${name} must be one of ${names.join(", ")}, received ${shown(value)}`;
      context.issues.push({ code: "custom", message, params: { code }, input: value });
      return z.NEVER;
    });
  return given(known.prefault(otherwise));
}

/** A boolean in a query or form: true, false, 1 or 0 in any case. */
export function flag(name: string, otherwise: boolean) {
  return z.preprocess(toFlag, z.boolean({ error: flagRule(name) }).default(otherwise));
}

/** A boolean query or form field whose default depends on other fields. */
export function optionalFlag(name: string) {
  return z.preprocess(toFlag, z.boolean({ error: flagRule(name) }).optional());
}

/** A whole number in a query. */
export function queryInteger(name: string, { min, max, otherwise }: NumberRule) {
  const error = ({ input }: Broken) =>
    `${name} must be an integer from ${min} to ${max}, received ${shown(input)}`;
  return z.preprocess(toInteger, z.int({ error }).min(min, { error }).max(max, { error }).default(otherwise));
}

/** A whole number in a query; absent by default. */
export function optionalQueryInteger(name: string, { min, max }: Pick<NumberRule, "min" | "max">) {
  const error = ({ input }: Broken) =>
    `${name} must be an integer from ${min} to ${max}, received ${shown(input)}`;
  return z.preprocess(toInteger, z.int({ error }).min(min, { error }).max(max, { error }).optional());
}

/** Quotes the start of an untrusted value for a message. */
export function shown(value: unknown): string {
  return JSON.stringify(String(value).slice(0, 60));
}

function flagRule(name: string) {
  return ({ input }: Broken) => `${name} must be true, false, 1 or 0, received ${shown(input)}`;
}

function toFlag(value: unknown): unknown {
  const lower = typeof value === "string" ? value.toLowerCase() : (value ?? undefined);
  if (lower === "true" || lower === "1") return true;
  return lower === "false" || lower === "0" ? false : lower;
}

function toInteger(value: unknown): unknown {
  return typeof value === "string" && /^\d{1,6}$/.test(value) ? Number(value) : (value ?? undefined);
}

function typeRule(name: string, what: string) {
  return ({ input }: Broken) => `${name} must be ${what}, received ${kindOf(input)}`;
}

function rangeRule(name: string, what: string, range: string) {
  return ({ input }: Broken) =>
    typeof input === "number"
      ? `${name} must be ${range}, received ${input}`
      : `${name} must be ${what}, received ${kindOf(input)}`;
}

/** Returns the JSON type of a value. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function codeOf(issue: z.core.$ZodIssue | undefined): ErrorCode {
  if (issue?.code === "unrecognized_keys") return "UNKNOWN_PARAMETER";
  const code = issue?.code === "custom" ? issue.params?.["code"] : undefined;
  return (code as ErrorCode | undefined) ?? "INVALID_REQUEST";
}

/** Kinds of names, for messages. */
export type NameKind = "parameter" | "field";

const LONGEST_SHOWN_NAME = 40;

/**
 * Rejects unknown names, because a typo would silently have no effect.
 *
 * @throws {ServiceError} `UNKNOWN_PARAMETER`, with the nearest known name, or all of them
 */
export function requireKnownNames(kind: NameKind, names: Iterable<string>, known: readonly string[]): void {
  for (const name of names) {
    if (!known.includes(name)) throw unknownName(kind, name, known);
  }
}

/**
 * Rejects near misses of known names and ignores others, for clients of another interface with more names
 * than ours.
 *
 * @param ignored names of those clients, whether near to ours or not
 * @throws {ServiceError} `UNKNOWN_PARAMETER`
 */
export function refuseNearMisses(
  kind: NameKind,
  names: Iterable<string>,
  { known, ignored }: { readonly known: readonly string[]; readonly ignored: readonly string[] },
): void {
  for (const name of names) {
    if (known.includes(name) || ignored.includes(name) || nearestName(name, known) === null) continue;
    throw unknownName(kind, name, known);
  }
}

/** Returns the message for an unknown name, with a suggestion. */
export function unknownNameRule(kind: NameKind, name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  if (nearest !== null) return `unknown ${kind} ${shownName(name)}: did you mean ${JSON.stringify(nearest)}?`;
  const names = known.length === 0 ? "there are none here" : `known are ${known.join(", ")}`;
  return `unknown ${kind} ${shownName(name)}: ${names}`;
}

/** Quotes an untrusted name for a message. */
export function shownName(name: string): string {
  return JSON.stringify(fitName(name));
}

/** Cuts a name, and masks an API key in its place. */
function fitName(name: string): string {
  return name.slice(0, LONGEST_SHOWN_NAME).replace(/sk-svc-.*/s, "sk-svc-...");
}

function unknownName(kind: NameKind, name: string, known: readonly string[]): ServiceError {
  const param = fitName(name);
  return new ServiceError("UNKNOWN_PARAMETER", unknownNameRule(kind, name, known), { param });
}
