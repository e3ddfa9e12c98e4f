import type { DauysClient } from "../client/node.js";

/** Every service answers at once; an address behind which nothing does is told by the next request. */
const ANSWER_WITHIN_MS = 10_000;

/**
 * The model that transcribes for requests that name none; null where the service does not say. It belongs to the name of a
 * recording's work: once the operator has chosen another, the answer of the one before is not what is asked for.
 */
export async function defaultRecognizer(client: DauysClient, signal: AbortSignal): Promise<string | null> {
  try {
    const [first] = await client.recognizers({ maxRetries: 0, timeoutMs: ANSWER_WITHIN_MS, signal });
    return first?.name ?? null;
  } catch {
    signal.throwIfAborted();
    // The request for the transcript says what is wrong with the service.
    return null;
  }
}
