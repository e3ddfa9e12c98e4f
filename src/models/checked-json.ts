import { readFile } from "node:fs/promises";
import type { z } from "zod";

/**
 * Reads a JSON file and checks it.
 *
 * @param broken creates the error to throw from the broken rule
 */
export async function readCheckedJson<T extends z.ZodType>(
  path: string,
  schema: T,
  broken: (rule: string, cause: unknown) => Error,
): Promise<z.output<T>> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    throw broken(isMissing(error) ? "the file does not exist" : (error as Error).message, error);
  }
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  const { path: field = [], message = "" } = checked.error.issues[0] ?? {};
  const name = field.map(String).join(".");
  throw broken(name === "" ? message : `${name} ${message}`, checked.error);
}

/** Returns whether an error says that a file or folder does not exist. */
export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}
