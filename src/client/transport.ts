/** How much of an upload has left. */
export interface UploadProgress {
  readonly sentBytes: number;
  /** Null when the source does not know its length. */
  readonly totalBytes: number | null;
}

/** What a request carries. */
export type RequestBody =
  | { readonly type: "bytes"; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly type: "blob"; readonly blob: Blob }
  /** Bytes as they come; `open` may be called again only when `isRepeatable`. */
  | {
      readonly type: "chunks";
      readonly sizeBytes: number | null;
      readonly isRepeatable: boolean;
      open(): AsyncIterable<Uint8Array>;
    };

export interface TransportRequest {
  readonly method: "GET" | "POST";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: RequestBody | null;
  /** Ends the exchange at any time, body of the answer included. */
  readonly signal: AbortSignal;
  readonly onUploadProgress: ((progress: UploadProgress) => void) | undefined;
}

/** The head of an answer; its body is still to be read, or cancelled. */
export interface TransportAnswer {
  readonly status: number;
  header(name: string): string | null;
  readonly body: AsyncIterable<Uint8Array>;
  /** Gives the connection up. */
  cancel(): void;
}

/** How requests leave, which differs between browsers and Node. Rejects with whatever broke. */
export type Transport = (request: TransportRequest) => Promise<TransportAnswer>;

/** The members of a WebSocket that the client uses: the browser's own and that of `ws` have them. */
export interface SocketLike {
  binaryType: string;
  readonly bufferedAmount: number;
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(): void;
  /** Only `ws`: closes without waiting for the other side. */
  terminate?(): void;
}

/** What differs between the places where the client runs. */
export interface Platform {
  readonly transport: Transport;
  openSocket(url: URL, protocols: string[]): SocketLike;
  /** Whether the key itself may open a live socket; else a single-use token is asked for first. */
  readonly socketTakesKey: boolean;
}
