import { ServiceError } from "../domain/errors.js";

/** Parses the bytes of a JSON body. @throws {ServiceError} `INVALID_REQUEST` when they are not JSON in UTF-8 */
export function parseJsonBody(bytes: Uint8Array): unknown {
  if (bytes.length === 0) {
    throw new ServiceError("INVALID_REQUEST", "the body must be a JSON object, received an empty body");
  }
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    // The parser's own message quotes the body, which may be private.
    throw new ServiceError("INVALID_REQUEST", "the body must be valid JSON in UTF-8", { cause });
  }
}
