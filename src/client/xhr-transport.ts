import type { TransportRequest, TransportResponse } from "./transport.js";

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
  onprogress: (() => void) | null;
  onerror: (() => void) | null;
  onabort: (() => void) | null;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getAllResponseHeaders(): string;
  send(body: Uint8Array<ArrayBuffer> | Blob): void;
  abort(): void;
}

/** Returns whether there is an XMLHttpRequest: only in browsers, and not in service workers. */
export function canUseXhr(): boolean {
  return "XMLHttpRequest" in globalThis;
}

/** Sends a request and reports upload progress. A response that is not text is returned when it is complete. */
export async function sendByXhr(
  { method, url, headers, signal, onUploadProgress }: TransportRequest,
  body: Uint8Array<ArrayBuffer> | Blob,
): Promise<TransportResponse> {
  signal.throwIfAborted();
  const xhr = newXhr();
  xhr.open(method, url.href);
  // Only text can be read while it arrives.
  const isText = headers["accept"]?.startsWith("text/") === true;
  xhr.responseType = isText ? "text" : "arraybuffer";
  for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value);
  xhr.upload.onprogress = ({ loaded, total }) => onUploadProgress?.({ sentBytes: loaded, totalBytes: total });
  const stop = () => xhr.abort();
  signal.addEventListener("abort", stop);
  const text = new StreamingText(() => xhr.response as string);
  const over = () => signal.removeEventListener("abort", stop);
  await new Promise<void>((settle, fail) => {
    const broken = (error: unknown) => {
      over();
      text.fail(error);
      fail(error);
    };
    xhr.onload = () => {
      over();
      text.end();
      settle();
    };
    xhr.onprogress = () => {
      if (!isText) return;
      text.update();
      settle();
    };
    xhr.onerror = () => broken(new TypeError("network error"));
    xhr.onabort = () => broken(signal.reason);
    xhr.send(body);
  });
  // Read the headers now: an aborted XMLHttpRequest drops them.
  const { status } = xhr;
  const headersIn = headersOf(xhr.getAllResponseHeaders());
  return {
    status,
    header: (name) => headersIn.get(name.toLowerCase()) ?? null,
    body: isText ? text.chunks() : once(new Uint8Array(xhr.response as ArrayBuffer)),
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

/** Turns text that grows into chunks of bytes. */
class StreamingText {
  readonly #text: () => string;
  #state: { readonly isOver: boolean; readonly error?: unknown } = { isOver: false };
  #wake = () => {};

  constructor(text: () => string) {
    this.#text = text;
  }

  update(): void {
    this.#wake();
  }

  end(): void {
    this.#state = { isOver: true };
    this.#wake();
  }

  fail(error: unknown): void {
    this.#state = { isOver: true, error };
    this.#wake();
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    const encoder = new TextEncoder();
    for (let taken = 0; ; ) {
      const { isOver, error } = this.#state;
      if (error !== undefined) throw error;
      const text = this.#text();
      if (text.length > taken) {
        const part = text.slice(taken);
        taken = text.length;
        yield encoder.encode(part);
        continue;
      }
      if (isOver) return;
      await new Promise<void>((settle) => {
        this.#wake = settle;
      });
    }
  }
}

function newXhr(): XhrLike {
  const { XMLHttpRequest } = globalThis as unknown as { readonly XMLHttpRequest: new () => XhrLike };
  return new XMLHttpRequest();
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
