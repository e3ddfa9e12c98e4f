import type { DauysClient } from "../client/node.js";

/** A running service answers immediately; the next request reports one that does not. */
const ANSWER_WITHIN_MS = 10_000;

/**
 * Returns the model that answers requests without one; null if the service does not say. It is part of the idempotency
 * key: after the operator has changed the default, a repeated request must not get the old model's transcript.
 */
export async function defaultRecognizer(client: DauysClient, signal: AbortSignal): Promise<string | null> {
  try {
    const [first] = await client.recognizers({ maxRetries: 0, timeoutMs: ANSWER_WITHIN_MS, signal });
    return first?.name ?? null;
  } catch {
    signal.throwIfAborted();
    // The transcription request will report the reason.
    return null;
  }
}
