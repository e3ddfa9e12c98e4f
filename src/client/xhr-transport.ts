import type { TransportAnswer, TransportRequest } from "./transport.js";

interface ProgressLike {
  readonly loaded: number;
  readonly total: number;
}

/** The members of an XMLHttpRequest that are used here. */
interface XhrLike {
  responseType: string;
  readonly status: number;
  readonly response: unknown;
  readonly upload: { onprogress: ((event: ProgressLike) => void) | null };
  onload: (() => void) | null;
  onerror: (() => void) | null;
  onabort: (() => void) | null;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getResponseHeader(name: string): string | null;
  send(body: Uint8Array<ArrayBuffer> | Blob): void;
  abort(): void;
}

/** Only browsers have it, and not in service workers. */
export function canUseXhr(): boolean {
  return "XMLHttpRequest" in globalThis;
}

/** Uploads and tells how far it is. The answer is there when it is complete. */
export async function sendByXhr(
  { method, url, headers, signal, onUploadProgress }: TransportRequest,
  body: Uint8Array<ArrayBuffer> | Blob,
): Promise<TransportAnswer> {
  signal.throwIfAborted();
  const xhr = newXhr();
  xhr.open(method, url.href);
  xhr.responseType = "arraybuffer";
  for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value);
  xhr.upload.onprogress = ({ loaded, total }) => onUploadProgress?.({ sentBytes: loaded, totalBytes: total });
  const stop = () => xhr.abort();
  signal.addEventListener("abort", stop);
  try {
    await new Promise<void>((settle, fail) => {
      xhr.onload = settle;
      xhr.onerror = () => fail(new TypeError("network error"));
      xhr.onabort = () => fail(signal.reason);
      xhr.send(body);
    });
  } finally {
    signal.removeEventListener("abort", stop);
  }
  return {
    status: xhr.status,
    header: (name) => xhr.getResponseHeader(name),
    body: once(new Uint8Array(xhr.response as ArrayBuffer)),
    cancel: () => {},
  };
}

function newXhr(): XhrLike {
  const { XMLHttpRequest } = globalThis as unknown as { readonly XMLHttpRequest: new () => XhrLike };
  return new XMLHttpRequest();
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
