import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { chunksOf } from "./bytes.js";
import type { RequestBody, TransportRequest, TransportResponse } from "./transport.js";

const CHUNK_BYTES = 64 * 1024;

/**
 * Sends a request with `node:http`. Unlike `fetch`, it sends the length of streamed files, reads responses
 * that arrive before the upload is complete, and sets no timeouts.
 */
export async function sendByHttp(request: TransportRequest): Promise<TransportResponse> {
  const { method, url, headers, body, signal, onUploadProgress } = request;
  signal.throwIfAborted();
  const start = url.protocol === "https:" ? requestHttps : requestHttp;
  const sizeBytes = sizeOf(body);
  const length: Record<string, string> = sizeBytes === null ? {} : { "content-length": String(sizeBytes) };
  const sent = start(url, { method, headers: { ...headers, ...length }, signal });
  const answered = new Promise<IncomingMessage>((settle, fail) => {
    sent.once("response", settle);
    sent.on("error", fail);
  });
  if (body === null) sent.end();
  else upload(counted(chunksIn(body), sizeBytes, onUploadProgress), sent);
  const response = await answered;
  return {
    status: response.statusCode ?? 0,
    header: (name) => {
      const value = response.headers[name];
      return Array.isArray(value) ? value.join(", ") : (value ?? null);
    },
    body: response as AsyncIterable<Buffer>,
    // This also stops an upload that is still running.
    cancel: () => sent.destroy(),
  };
}

/** Sends the body. If the service rejects it early, the response counts, not the failed upload. */
function upload(chunks: AsyncIterable<Uint8Array>, sent: ClientRequest): void {
  pipeline(Readable.from(chunks, { objectMode: false }), sent).catch((error) => sent.destroy(error));
}

async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  totalBytes: number | null,
  onProgress: TransportRequest["onUploadProgress"],
): AsyncGenerator<Uint8Array> {
  let sentBytes = 0;
  for await (const chunk of chunks) {
    yield chunk;
    // The generator resumes once the connection has accepted the chunk.
    sentBytes += chunk.length;
    onProgress?.({ sentBytes, totalBytes });
  }
}

async function* chunksIn(body: RequestBody): AsyncGenerator<Uint8Array> {
  if (body.type === "chunks") return yield* body.open();
  if (body.type === "blob") return yield* chunksOf(body.blob.stream());
  for (let offset = 0; offset < body.bytes.length; offset += CHUNK_BYTES) {
    yield body.bytes.subarray(offset, offset + CHUNK_BYTES);
  }
}

function sizeOf(body: RequestBody | null): number | null {
  if (body === null) return 0;
  if (body.type === "bytes") return body.bytes.length;
  return body.type === "blob" ? body.blob.size : body.sizeBytes;
}
