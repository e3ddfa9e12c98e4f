import type { z } from "zod";
import type { DeepReadonly } from "./fields.js";

/** A client's message by its schema; messages of unknown types are ignored. */
export type ClientMessage<T extends z.ZodType> = DeepReadonly<z.output<T>> | { readonly type: "ignored" };

/** Parses a text message of a live client; null when it is not JSON. */
export function parseClientMessage<T extends z.ZodType>(schema: T, text: string): ClientMessage<T> | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const result = schema.safeParse(value);
  return result.success ? (result.data as DeepReadonly<z.output<T>>) : { type: "ignored" };
}
