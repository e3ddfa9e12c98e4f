/** Enough for any message that explains a refusal. */
const MOST_BODY_BYTES = 4_096;
const MOST_CHARACTERS = 200;

type Json = Readonly<Record<string, unknown>>;

/**
 * Returns the reason for a failed request: its status, and what the service says about it in our protocol,
 * OpenAI's or Deepgram's.
 */
export function refusalReason(status: number, body: Buffer): string {
  const said = saidIn(body.toString("utf8", 0, MOST_BODY_BYTES));
  return withDetail(`HTTP ${status}`, said);
}

/** Joins a kind of failure and its detail, on one line. Failures of one kind are counted together. */
export function withDetail(kind: string, detail: unknown): string {
  if (typeof detail !== "string" || detail === "") return kind;
  return `${kind}: ${detail.replaceAll(/\s+/g, " ").slice(0, MOST_CHARACTERS)}`;
}

/** Returns the part of a reason that does not depend on the single request. */
export function kindOf(reason: string): string {
  return reason.split(": ", 1)[0]!;
}

function saidIn(body: string): unknown {
  try {
    const { detail, error, err_msg } = JSON.parse(body) as Json;
    return detail ?? (error as Json | undefined)?.["message"] ?? err_msg;
  } catch {
    return null;
  }
}
