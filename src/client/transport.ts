export interface UploadProgress {
  readonly sentBytes: number;
  /** Null if the length is unknown. */
  readonly totalBytes: number | null;
}

export type RequestBody =
  | { readonly type: "bytes"; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly type: "blob"; readonly blob: Blob }
  /** A stream. `open` may be called again only if `isRepeatable` is true. */
  | {
      readonly type: "chunks";
      readonly sizeBytes: number | null;
      readonly isRepeatable: boolean;
      open(): AsyncIterable<Uint8Array>;
    };

export interface TransportRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: RequestBody | null;
  /** Aborts the request, or the download of its response. */
  readonly signal: AbortSignal;
  readonly onUploadProgress: ((progress: UploadProgress) => void) | undefined;
}

/** A response whose body must be read or cancelled. */
export interface TransportResponse {
  readonly status: number;
  header(name: string): string | null;
  readonly body: AsyncIterable<Uint8Array>;
  /** Closes the connection. */
  cancel(): void;
}

/** Sends a request. Rejects with the platform's own errors. */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;

/** The WebSocket members that the client uses. Both browsers and `ws` have them. */
export interface SocketLike {
  binaryType: string;
  readonly bufferedAmount: number;
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(): void;
  /** Closes without waiting for the other side; only in `ws`. */
  terminate?(): void;
}
