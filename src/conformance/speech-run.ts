import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { WavFrameReader } from "../../core/protocol/wav-frames.js";
import type { SpeechScript } from "./cases.js";
import { addressOf, type Server, userAgent, WRONG_KEY } from "./server.js";
import type { Answer } from "./trace.js";

const ANSWER_WITHIN_MS = 60_000;
/** Random key, the same in all requests of this process that repeat it. */
const RANDOM = randomUUID();

/** How many retries a busy server may request, and how long each may wait. */
const MOST_RETRIES = 3;
const LONGEST_RETRY_SECONDS = 60;
const BUSY = [429, 503];

/**
 * Sends one request and records the response, after the retries that the server requests by `Retry-After`.
 *
 * @throws {Error} if the server cannot be reached
 */
export async function runSpeech(server: Server, name: string, script: SpeechScript): Promise<Answer> {
  for (let retries = 0; ; retries++) {
    const answer = await runOnce(server, name, script);
    const seconds = Number(answer.headers["retry-after"] ?? "none");
    const isLast = retries === MOST_RETRIES || !(seconds <= LONGEST_RETRY_SECONDS);
    if (!BUSY.includes(answer.status) || isLast) return answer;
    await sleep(1_000 * seconds);
  }
}

async function runOnce({ baseUrl, key }: Server, name: string, script: SpeechScript): Promise<Answer> {
  const { credential = "header", query, body, headers = {}, cancelAfter = Number.POSITIVE_INFINITY } = script;
  const bearer = { header: key, "wrong-header": WRONG_KEY, none: null }[credential];
  const stop = new AbortController();
  const response = await fetch(addressOf(baseUrl, "/v1/tts/stream", query), {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "user-agent": userAgent(name),
      ...(bearer !== null && { authorization: `Bearer ${bearer}` }),
      ...Object.fromEntries(
        Object.entries(headers).map(([each, value]) => [each, value.replace("{random}", RANDOM)]),
      ),
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
    signal: AbortSignal.any([stop.signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]),
  });
  const { bytes, isCanceled } = await read(response, cancelAfter);
  stop.abort();
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    bytes,
    isCanceled,
    text: typeof body === "string" ? "" : String(body["text"] ?? ""),
  };
}

/** Reads the body, or its first frames, after which the caller aborts the request. */
async function read(response: Response, frameCount: number): Promise<Pick<Answer, "bytes" | "isCanceled">> {
  const frames = new WavFrameReader();
  const chunks: Uint8Array[] = [];
  let count = 0;
  try {
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      chunks.push(chunk);
      if (response.ok && frameCount < Number.POSITIVE_INFINITY) count += frames.push(chunk).length;
      if (count >= frameCount) return { bytes: Buffer.concat(chunks), isCanceled: true };
    }
  } catch {
    // A stream that was cut off shows as an incomplete frame.
  }
  return { bytes: Buffer.concat(chunks), isCanceled: false };
}
