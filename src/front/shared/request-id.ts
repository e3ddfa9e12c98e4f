import { randomFillSync } from "node:crypto";

const ID_BYTES = 12;
/** Random bytes are drawn for many ids at once: a draw costs much the same for 12 bytes as for 3,072. */
const pool = Buffer.allocUnsafe(256 * ID_BYTES);
let usedBytes = pool.length;

/** An id that ties an answer to the log lines of its request. */
export function newRequestId(): string {
  if (usedBytes === pool.length) {
    randomFillSync(pool);
    usedBytes = 0;
  }
  const id = pool.toString("hex", usedBytes, usedBytes + ID_BYTES);
  usedBytes += ID_BYTES;
  return `req_${id}`;
}
