import { z } from "zod";
import { type ErrorCode, ServiceError } from "../domain/errors.js";
import { unknownNameRule } from "./known-names.js";

/** A type as a parser gives it: nothing changes it any more. */
export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

/** What the rule of a field knows when it is broken. */
interface Broken {
  readonly input?: unknown;
}

/**
 * Reads `value` by its schema. Members that the schema does not name are dropped, unless it is strict.
 *
 * @throws {ServiceError} for the first rule that is broken; its message names the field, the rule and the value
 */
export function parseWith<T extends z.ZodType>(schema: T, value: unknown): DeepReadonly<z.output<T>> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data as DeepReadonly<z.output<T>>;
  const [issue] = result.error.issues;
  throw new ServiceError(codeOf(issue), issue?.message ?? "the request is invalid", {
    param: issue?.path[0]?.toString(),
  });
}

/** An object in a JSON body, whose schema names all members that it may have. */
export function body<T extends z.core.$ZodLooseShape>(shape: T) {
  const notObject = typeRule("the body", "a JSON object");
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === "unrecognized_keys"
        ? unknownNameRule("field", (issue["keys"] as readonly string[])[0]!, Object.keys(shape))
        : notObject(issue),
  });
}

/** An object in a JSON body that may have other members too. */
export function looseBody<T extends z.core.$ZodLooseShape>(shape: T) {
  return z.object(shape, { error: typeRule("the body", "a JSON object") });
}

/** A field that may be absent or null, which mean the same. */
export function given<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => value ?? undefined, schema);
}

/** A string, or null when it is not given. */
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

/** An integer, or null when it is not given. */
export function optionalInteger(name: string, { min, max }: Pick<NumberRule, "min" | "max">) {
  const error = rangeRule(name, "an integer", `an integer from ${min} to ${max}`);
  return given(z.int({ error }).min(min, { error }).max(max, { error }).nullable().default(null));
}

export function boolean(name: string, otherwise: boolean) {
  return given(z.boolean({ error: typeRule(name, "true or false") }).default(otherwise));
}

/** One of `names`; anything else has an error code of its own. */
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

/** A boolean in a query or a form: true, false, 1 or 0 in any case. */
export function flag(name: string, otherwise: boolean) {
  const error = ({ input }: Broken) => `${name} must be true, false, 1 or 0, received ${shown(input)}`;
  return z.preprocess(toFlag, z.boolean({ error }).default(otherwise));
}

/** A whole number in a query. */
export function queryInteger(name: string, { min, max, otherwise }: NumberRule) {
  const error = ({ input }: Broken) =>
    `${name} must be an integer from ${min} to ${max}, received ${shown(input)}`;
  return z.preprocess(toInteger, z.int({ error }).min(min, { error }).max(max, { error }).default(otherwise));
}

/** The beginning of a value from outside, fit for a message. */
export function shown(value: unknown): string {
  return JSON.stringify(String(value).slice(0, 60));
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

/** What kind of JSON value something is. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function codeOf(issue: z.core.$ZodIssue | undefined): ErrorCode {
  if (issue?.code === "unrecognized_keys") return "UNKNOWN_PARAMETER";
  const code = issue?.code === "custom" ? issue.params?.["code"] : undefined;
  return (code as ErrorCode | undefined) ?? "INVALID_REQUEST";
}
