import { chunksOf } from "./bytes.js";
import type { RequestBody, TransportAnswer, TransportRequest } from "./transport.js";
import { canUseXhr, sendByXhr } from "./xhr-transport.js";

/**
 * Requests by `fetch`, as every browser has it. It cannot tell how much of an upload has left, so an upload that is
 * watched goes by XMLHttpRequest where there is one.
 */
export async function sendByFetch(request: TransportRequest): Promise<TransportAnswer> {
  const { method, url, headers, signal, onUploadProgress } = request;
  const body = await bodyInit(request.body);
  if (onUploadProgress !== undefined && body !== null && canUseXhr()) return sendByXhr(request, body);
  const response = await fetch(url, { method, headers, body, signal, credentials: "omit" });
  if (body !== null) onUploadProgress?.({ sentBytes: sizeOf(body), totalBytes: sizeOf(body) });
  return {
    status: response.status,
    header: (name) => response.headers.get(name),
    body: response.body === null ? none() : chunksOf(response.body),
    cancel: () => {
      // Nobody waits for what is thrown away.
      response.body?.cancel().catch(() => {});
    },
  };
}

/** Browsers send streams only over HTTP/2: what comes in chunks is collected first, on disk where the browser likes. */
async function bodyInit(body: RequestBody | null): Promise<Uint8Array<ArrayBuffer> | Blob | null> {
  if (body === null) return null;
  if (body.type === "bytes") return body.bytes;
  if (body.type === "blob") return body.blob;
  const parts: Blob[] = [];
  for await (const chunk of body.open()) parts.push(new Blob([new Uint8Array(chunk)]));
  return new Blob(parts);
}

function sizeOf(body: Uint8Array | Blob): number {
  return body instanceof Blob ? body.size : body.length;
}

async function* none(): AsyncGenerator<Uint8Array> {}
