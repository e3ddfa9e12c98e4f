import { ServiceError } from "../../../core/domain/errors.js";

/** Time that a client's request waits for the database. */
export const ANSWER_MS = 3_000;

/** Settles as `work` does, or rejects after `limitMs`. */
export async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${limitMs} ms`)), limitMs);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns whether `work` succeeds within `limitMs`. */
export function succeedsWithin(limitMs: number, work: Promise<unknown>): Promise<boolean> {
  return within(limitMs, work).then(
    () => true,
    () => false,
  );
}

/**
 * Waits for a query result that a client's request needs.
 *
 * @param detail message for the client if there is no result
 * @throws {ServiceError} `AUTH_UNAVAILABLE` if the query fails or takes longer than `ANSWER_MS`
 */
export async function orUnavailable<T>(
  query: Promise<T>,
  detail: string,
  onFailure: (cause: unknown) => void = () => {},
): Promise<T> {
  try {
    return await within(ANSWER_MS, query);
  } catch (cause) {
    onFailure(cause);
    throw new ServiceError("AUTH_UNAVAILABLE", detail, { cause });
  }
}
