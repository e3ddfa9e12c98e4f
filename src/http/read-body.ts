import { ServiceError } from "../../core/domain/errors.js";
import type { FrontRequest } from "../../core/ports/front.js";
import { parseJsonBody } from "../../core/protocol/fields.js";

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

/** Minimum pace of a body. Only the time that we wait for the client counts. */
export interface BodyPace {
  /** Minimum average rate after `graceMs`. */
  readonly leastBytesPerS: number;
  readonly graceMs: number;
  /** Longest wait without a byte. */
  readonly stallMs: number;
  readonly longestMs: number;
}

/**
 * Slightly slower than a microphone with the most efficient codecs; at this pace, the longest file takes two
 * hours.
 */
export const UPLOAD_PACE: BodyPace = {
  leastBytesPerS: 512,
  graceMs: 30_000,
  stallMs: 50_000,
  longestMs: 9_000_000,
};
/** Pace for bodies of at most 64 KiB, which clients can send without delay. */
export const JSON_PACE: BodyPace = {
  leastBytesPerS: 512,
  graceMs: 10_000,
  stallMs: 10_000,
  longestMs: 60_000,
};

/**
 * Passes a body on, and enforces its pace.
 *
 * @throws {ServiceError} `BODY_TOO_SLOW`, and whatever `body` throws
 */
export async function* paced(
  body: AsyncIterable<Uint8Array>,
  pace: BodyPace,
): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks = body[Symbol.asyncIterator]();
  let bytes = 0;
  let waitedMs = 0;
  let isWaiting = false;
  try {
    for (;;) {
      const sinceMs = performance.now();
      isWaiting = true;
      const { value, done } = await nextWithin(chunks, leftMs(pace, bytes, waitedMs), () =>
        tooSlow(pace, bytes, waitedMs + performance.now() - sinceMs),
      );
      isWaiting = false;
      waitedMs += performance.now() - sinceMs;
      if (done === true) return;
      bytes += value.length;
      yield value;
    }
  } finally {
    // Tell the source, which may still be sending, that its reader has stopped.
    if (!isWaiting) await chunks.return?.();
  }
}

/** Uses one timer per chunk, so that a reader that stops between chunks leaves no timer behind. */
async function nextWithin(
  chunks: AsyncIterator<Uint8Array>,
  limitMs: number,
  failure: () => ServiceError,
): Promise<IteratorResult<Uint8Array, unknown>> {
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise((resolve, reject) => {
      timer = setTimeout(() => reject(failure()), limitMs);
      // After a timeout this keeps waiting, but its result is ignored.
      chunks.next().then(resolve, reject);
    });
  } finally {
    clearTimeout(timer);
  }
}

function leftMs(pace: BodyPace, bytes: number, waitedMs: number): number {
  const dueMs = pace.graceMs + (1_000 * bytes) / pace.leastBytesPerS;
  return Math.max(0, Math.min(Math.min(dueMs, pace.longestMs) - waitedMs, pace.stallMs));
}

function tooSlow({ leastBytesPerS, longestMs }: BodyPace, bytes: number, waitedMs: number): ServiceError {
  return new ServiceError(
    "BODY_TOO_SLOW",
    `the body must arrive at ${leastBytesPerS} bytes per second or more and within ${longestMs / 1_000} s, ` +
      `received ${bytes} bytes in ${Math.round(waitedMs / 1_000)} s`,
  );
}
