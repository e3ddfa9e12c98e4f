import { chunksOf } from "./bytes.js";
import type { RequestBody } from "./transport.js";

/**
 * A recording: a file that the user selected in a page, its bytes, a stream of them, or a public URL from
 * which the service downloads it. A stream can be sent only once, so requests with one are not retried.
 */
export type AudioSource =
  | Blob
  | Uint8Array
  | ArrayBuffer
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>
  | { readonly url: string };

export interface AudioBody {
  readonly body: RequestBody;
  /** Name whose extension specifies the container format; null if the source has no name. */
  readonly fileName: string | null;
}

/** Returns the request body for a source that is not a URL. */
export function audioBodyOf(source: Exclude<AudioSource, { readonly url: string }>): AudioBody {
  if (source instanceof Blob) {
    const fileName = "name" in source && typeof source.name === "string" ? source.name : null;
    return { body: { type: "blob", blob: source }, fileName };
  }
  if (source instanceof Uint8Array || source instanceof ArrayBuffer) {
    return { body: { type: "bytes", bytes: sendableBytes(source) }, fileName: null };
  }
  const open = () => (source instanceof ReadableStream ? chunksOf(source) : source);
  return { body: { type: "chunks", sizeBytes: null, isRepeatable: false, open }, fileName: null };
}

export function isUrl(source: unknown): source is { readonly url: string } {
  return typeof source === "object" && source !== null && "url" in source && typeof source.url === "string";
}

/** Returns a name that fits into a header, which must be ASCII; only the extension matters. */
export function headerName(fileName: string): string {
  const ending = /\.[0-9A-Za-z]+$/.exec(fileName)?.[0] ?? ".wav";
  return `audio${ending}`;
}

function sendableBytes(source: Uint8Array | ArrayBuffer): Uint8Array<ArrayBuffer> {
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  // Bytes in shared memory cannot be sent.
  if (!(source.buffer instanceof ArrayBuffer)) return new Uint8Array(source);
  return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
}
