import { SpeechError } from "../domain/errors.js";

/** A JSON object from a client, read member by member. Members nobody asks for are ignored; null means not given. */
export class JsonFields {
  readonly #members: Readonly<Record<string, unknown>>;

  /** @throws {SpeechError} `INVALID_REQUEST` when `value` is not an object */
  constructor(value: unknown) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw invalid(`the body must be a JSON object, received ${kindOf(value)}`);
    }
    this.#members = value as Record<string, unknown>;
  }

  string(name: string): string | null {
    const value = this.#get(name);
    if (value === null || typeof value === "string") return value;
    throw invalid(`${name} must be a string, received ${kindOf(value)}`);
  }

  boolean(name: string, otherwise: boolean): boolean {
    const value = this.#get(name);
    if (value === null) return otherwise;
    if (typeof value === "boolean") return value;
    throw invalid(`${name} must be true or false, received ${kindOf(value)}`);
  }

  number(
    name: string,
    rule: { readonly min: number; readonly max: number; readonly otherwise: number },
  ): number {
    const value = this.#get(name);
    if (value === null) return rule.otherwise;
    if (typeof value !== "number") throw invalid(`${name} must be a number, received ${kindOf(value)}`);
    if (value >= rule.min && value <= rule.max) return value;
    throw invalid(`${name} must be ${rule.min} to ${rule.max}, received ${value}`);
  }

  integer(
    name: string,
    rule: { readonly min: number; readonly max: number; readonly otherwise: number },
  ): number {
    const value = this.#get(name);
    if (value === null) return rule.otherwise;
    if (typeof value !== "number") throw invalid(`${name} must be an integer, received ${kindOf(value)}`);
    if (Number.isInteger(value) && value >= rule.min && value <= rule.max) return value;
    throw invalid(`${name} must be an integer from ${rule.min} to ${rule.max}, received ${value}`);
  }

  #get(name: string): unknown {
    return Object.hasOwn(this.#members, name) ? (this.#members[name] ?? null) : null;
  }
}

/**
 * Parses the bytes of a JSON body.
 *
 * @throws {SpeechError} `INVALID_REQUEST` when they are not JSON in UTF-8, or not an object
 */
export function parseJsonBody(bytes: Uint8Array): JsonFields {
  if (bytes.length === 0) throw invalid("the body must be a JSON object, received an empty body");
  return new JsonFields(parseJson(bytes));
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    // The parser's own message quotes the body, which may be private.
    throw new SpeechError("INVALID_REQUEST", "the body must be valid JSON in UTF-8", { cause });
  }
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function invalid(message: string): SpeechError {
  return new SpeechError("INVALID_REQUEST", message);
}
