import { chunksOf } from "./bytes.js";
import type { RequestBody } from "./transport.js";

/**
 * Where a recording comes from: a file a page was given, its bytes, a stream of them, or a public address that the
 * service fetches itself. A stream is sent once and never again, so a request with one is not retried.
 */
export type AudioSource =
  | Blob
  | Uint8Array
  | ArrayBuffer
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>
  | { readonly url: string };

export interface OpenSource {
  readonly body: RequestBody;
  /** Names the container by its ending; null when the source has no name. */
  readonly fileName: string | null;
}

/** The body of a request for a source that is no address. */
export function openSource(source: Exclude<AudioSource, { readonly url: string }>): OpenSource {
  if (source instanceof Blob) {
    const fileName = "name" in source && typeof source.name === "string" ? source.name : null;
    return { body: { type: "blob", blob: source }, fileName };
  }
  if (source instanceof Uint8Array || source instanceof ArrayBuffer) {
    return { body: { type: "bytes", bytes: viewOf(source) }, fileName: null };
  }
  const open = () => (source instanceof ReadableStream ? chunksOf(source) : source);
  return { body: { type: "chunks", sizeBytes: null, isRepeatable: false, open }, fileName: null };
}

/** The name as a header can carry it: only the ending matters, and it must be ASCII. */
export function headerName(fileName: string): string {
  const ending = /\.[0-9A-Za-z]+$/.exec(fileName)?.[0] ?? ".wav";
  return `audio${ending}`;
}

function viewOf(source: Uint8Array | ArrayBuffer): Uint8Array<ArrayBuffer> {
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  // Shared memory cannot be sent.
  if (!(source.buffer instanceof ArrayBuffer)) return new Uint8Array(source);
  return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
}
