import { ApiError, ConnectionError, DauysError } from "./errors.js";
import type { OpenAnswer } from "./requester.js";
import type { Transcription } from "./types.js";

const EVENTS = "text/event-stream";

/** What asks for events where there are any; services without them answer as ever. */
export const EVENTS_FIRST = { accept: `${EVENTS}, application/json;q=0.9` };

/**
 * Reads a transcription that comes with its progress.
 * @throws {ApiError} what an event says, {ConnectionError} when the events end without a result
 */
export async function readTranscript(
  answer: OpenAnswer,
  onProgress: (share: number) => void,
): Promise<Transcription> {
  if (answer.header("content-type")?.startsWith(EVENTS) !== true)
    return (await answer.json()) as Transcription;
  for await (const { event, data } of eventsIn(answer.chunks())) {
    if (event === "progress") onProgress((parsed(data) as { readonly share: number }).share);
    if (event === "result") return parsed(data) as Transcription;
    if (event !== "error") continue;
    const { status, code, detail } = parsed(data) as Pick<ApiError, "status" | "code" | "detail">;
    throw new ApiError({ status, code, detail, requestId: answer.requestId, retryAfterMs: null });
  }
  throw new ConnectionError("the answer broke off: its events ended without a result");
}

interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/** Events of a stream in any cut; comments and other fields are passed over. */
async function* eventsIn(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  let event = "";
  let data: string[] = [];
  for await (const line of linesIn(chunks)) {
    const [, field, value = ""] = /^(\w*): ?(.*)$/s.exec(line) ?? [];
    if (field === "event") event = value;
    if (field === "data") data.push(value);
    if (line !== "") continue;
    if (data.length > 0) yield { event, data: data.join("\n") };
    event = "";
    data = [];
  }
}

async function* linesIn(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  // A long line comes in many chunks: it is put together once.
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
  try {
    return JSON.parse(data);
  } catch (error) {
    throw new DauysError("bad_answer", "an event of the answer is not JSON", { cause: error });
  }
}
