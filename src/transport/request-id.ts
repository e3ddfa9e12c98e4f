import { randomBytes } from "node:crypto";

/** An id that ties an answer to the log lines of its request. */
export function newRequestId(): string {
  return `req_${randomBytes(12).toString("hex")}`;
}
