import { z } from "zod";

function found(rule: string) {
  return ({ input }: { readonly input?: unknown }): string =>
    `${rule}, found ${typeof input === "object" && input !== null ? JSON.stringify(input) : String(input)}`;
}

/** A non-empty string. */
export function text() {
  const error = found("must be a string");
  return z.string({ error }).min(1, { error });
}

export function number() {
  return z.number({ error: found("must be a number") });
}

export function between(least: number, most: number) {
  const error = found(`must be a number from ${least} to ${most}`);
  return z.number({ error }).min(least, { error }).max(most, { error });
}

/** An integer of at least `least`. */
export function whole(least: number) {
  const error = found(`must be a whole number of at least ${least}`);
  return z.int({ error }).min(least, { error });
}

export function choice<const T extends readonly [string, ...string[]]>(choices: T) {
  return z.enum(choices, {
    error: found(`must be ${choices.length > 1 ? "one of " : ""}${choices.join(", ")}`),
  });
}

/** A list of `length` positive integers. */
export function counts(length: number) {
  const error = found(`must be ${length} whole numbers of at least 1`);
  return z.custom<readonly number[]>(
    (value) =>
      Array.isArray(value) &&
      value.length === length &&
      value.every((entry) => Number.isInteger(entry) && entry >= 1),
    { error },
  );
}

/** A list of `length` finite numbers. */
export function numbers(length: number) {
  return z.custom<readonly number[]>(
    (value) => Array.isArray(value) && value.length === length && value.every(Number.isFinite),
    { error: `must be ${length} numbers` },
  );
}

/** Reports a broken rule that involves several fields; the message follows `path`. */
export function refuse(context: z.core.$RefinementCtx, path: readonly string[], message: string): void {
  context.addIssue({ code: "custom", path: [...path], message });
}

/** Formats the first broken rule, after the path of its field. */
export function brokenRule({ issues }: z.core.$ZodError, from = 0): string {
  const [issue] = issues;
  const path = (issue?.path ?? []).slice(from).map(String).join(".");
  return `${path}${path === "" ? "" : " "}${issue?.message ?? "is invalid"}`;
}
