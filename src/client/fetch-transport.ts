import { chunksOf } from "./bytes.js";
import type { RequestBody, TransportRequest, TransportResponse } from "./transport.js";
import { canUseXhr, sendByXhr } from "./xhr-transport.js";

/** Sends a request with `fetch`. For upload progress, which `fetch` does not report, uses XMLHttpRequest. */
export async function sendByFetch(request: TransportRequest): Promise<TransportResponse> {
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
      // A failed stream rejects here; its reader gets the error anyway.
      response.body?.cancel().catch(() => {});
    },
  };
}

/** Collects streams in Blobs, which browsers may keep on disk: they can send streams only over HTTP/2. */
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
