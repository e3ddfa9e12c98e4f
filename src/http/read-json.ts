import { ServiceError } from "../../core/domain/errors.js";
import type { FrontRequest } from "../../core/ports/front.js";
import { parseJsonBody } from "../../core/protocol/fields.js";
import { JSON_PACE, paced } from "./paced-body.js";

export const LONGEST_JSON_BYTES = 64 * 1024;

/**
 * Reads and parses a JSON body of at most `longestBytes`.
 *
 * @throws {ServiceError} `BODY_TOO_LARGE`, `BODY_TOO_SLOW`, `INVALID_REQUEST`, `CANCELLED`
 */
export async function readJson(request: FrontRequest, longestBytes = LONGEST_JSON_BYTES): Promise<unknown> {
  if ((request.contentLength ?? 0) > longestBytes) throw tooLarge(longestBytes);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of paced(request.body, JSON_PACE)) {
    bytes += chunk.length;
    if (bytes > longestBytes) throw tooLarge(longestBytes);
    chunks.push(chunk);
  }
  return parseJsonBody(Buffer.concat(chunks));
}

function tooLarge(longestBytes: number): ServiceError {
  return new ServiceError("BODY_TOO_LARGE", `a JSON body must be at most ${longestBytes} bytes`);
}
