import { chunksOf } from "./bytes.js";
import type { TransportRequest, TransportResponse } from "./transport.js";

interface ProgressLike {
  readonly loaded: number;
  readonly total: number;
}

interface XhrLike {
  responseType: string;
  readonly status: number;
  readonly response: unknown;
  readonly upload: { onprogress: ((event: ProgressLike) => void) | null };
  onload: (() => void) | null;
  onprogress: (() => void) | null;
  onerror: (() => void) | null;
  onabort: (() => void) | null;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getAllResponseHeaders(): string;
  send(body: Uint8Array<ArrayBuffer> | Blob): void;
  abort(): void;
}

/** Returns whether XMLHttpRequest exists: only in browsers, and not in service workers. */
export function canUseXhr(): boolean {
  return "XMLHttpRequest" in globalThis;
}

/**
 * Sends a request and reports upload progress. Text is returned as it arrives. For any other response,
 * XMLHttpRequest waits until it is complete.
 */
export async function sendByXhr(
  { method, url, headers, signal, onUploadProgress }: TransportRequest,
  body: Uint8Array<ArrayBuffer> | Blob,
): Promise<TransportResponse> {
  signal.throwIfAborted();
  const { XMLHttpRequest } = globalThis as unknown as { readonly XMLHttpRequest: new () => XhrLike };
  const xhr = new XMLHttpRequest();
  xhr.open(method, url.href);
  const isText = headers["accept"]?.startsWith("text/") === true;
  xhr.responseType = isText ? "text" : "arraybuffer";
  for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value);
  xhr.upload.onprogress = ({ loaded, total }) => onUploadProgress?.({ sentBytes: loaded, totalBytes: total });
  const stop = () => xhr.abort();
  signal.addEventListener("abort", stop);
  const { readable, controller } = openStream();
  let readLength = 0;
  const readText = () => {
    const text = (xhr.response as string).slice(readLength);
    readLength += text.length;
    if (text !== "") controller.enqueue(new TextEncoder().encode(text));
  };
  await new Promise<void>((settle, fail) => {
    const broken = (error: unknown) => {
      signal.removeEventListener("abort", stop);
      controller.error(error);
      fail(error);
    };
    xhr.onload = () => {
      signal.removeEventListener("abort", stop);
      if (isText) readText();
      else controller.enqueue(new Uint8Array(xhr.response as ArrayBuffer));
      controller.close();
      settle();
    };
    xhr.onprogress = () => {
      if (!isText) return;
      readText();
      settle();
    };
    xhr.onerror = () => broken(new TypeError("network error"));
    xhr.onabort = () => broken(signal.reason);
    xhr.send(body);
  });
  // Read the headers now, because an aborted XMLHttpRequest drops them.
  const { status } = xhr;
  const headersIn = headersOf(xhr.getAllResponseHeaders());
  return {
    status,
    header: (name) => headersIn.get(name.toLowerCase()) ?? null,
    body: chunksOf(readable),
    cancel: stop,
  };
}

/** Parses headers into lower-case names. */
function headersOf(lines: string): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines.split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  return headers;
}

function openStream() {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const readable = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given;
    },
  });
  return { readable, controller };
}
