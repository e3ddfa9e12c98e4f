import { ApiError, ConnectionError } from "./errors.js";
import { type OpenResponse, parseJson } from "./requester.js";
import type { Transcription } from "./transcription-types.js";

const EVENTS = "text/event-stream";

/** Requests progress events. Services that do not support them respond with JSON. */
export const ACCEPT_EVENTS = { accept: `${EVENTS}, application/json;q=0.9` };

/**
 * Reads a transcription and its progress events.
 *
 * @throws {ApiError} for an error event
 * @throws {ConnectionError} if the events end without a result
 */
export async function readTranscript(
  response: OpenResponse,
  onProgress: (share: number) => void,
): Promise<Transcription> {
  if (response.header("content-type")?.startsWith(EVENTS) !== true)
    return (await response.json()) as Transcription;
  for await (const { event, data } of serverEvents(response.chunks())) {
    if (event === "progress") onProgress((parsed(data) as { readonly share: number }).share);
    if (event === "result") return parsed(data) as Transcription;
    if (event !== "error") continue;
    const { status, code, detail } = parsed(data) as Pick<ApiError, "status" | "code" | "detail">;
    throw new ApiError({ status, code, detail, requestId: response.requestId, retryAfterMs: null });
  }
  throw new ConnectionError("the response ended early: no result event");
}

interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/** Yields the server-sent events of a stream; skips comments and other fields. */
async function* serverEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  let event = "";
  let data: string[] = [];
  for await (const line of textLines(chunks)) {
    const [, field, value = ""] = /^(\w*): ?(.*)$/s.exec(line) ?? [];
    if (field === "event") event = value;
    if (field === "data") data.push(value);
    if (line !== "") continue;
    if (data.length > 0) yield { event, data: data.join("\n") };
    event = "";
    data = [];
  }
}

async function* textLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  // A long line arrives in many chunks, so its parts are joined only once.
  let parts: string[] = [];
  for await (const chunk of chunks) {
    const [first = "", ...others] = decoder.decode(chunk, { stream: true }).split("\n");
    parts.push(first);
    for (const next of others) {
      yield parts.join("").replace(/\r$/, "");
      parts = [next];
    }
  }
}

function parsed(data: string): unknown {
  return parseJson(data, "an event of the response");
}
