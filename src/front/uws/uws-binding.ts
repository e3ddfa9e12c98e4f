/** The part of uWebSockets.js that we use. Buffers are valid only until their callback returns. */
export interface UwsBinding {
  App(): UwsApp;
  _cfg(setting: string): void;
  us_listen_socket_close(socket: object): void;
  us_socket_local_port(socket: object): number;
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number;
}

export interface UwsApp {
  any(pattern: string, handler: (res: UwsResponse, req: UwsRequest) => void): UwsApp;
  ws(pattern: string, behavior: UwsBehavior): UwsApp;
  listen(host: string, port: number, options: number, onListen: (socket: object | false) => void): UwsApp;
  close(): UwsApp;
  /** Limits the time for a head and for each piece of a body, in whole seconds. Missing in 20.30. */
  setIdleTimeout?(seconds: number): UwsApp;
  /** Limits the idle time after a response, and how long a reader may take nothing. Missing in 20.30. */
  setResponseTimeout?(seconds: number): UwsApp;
}

/** Valid only until the handler returns. */
export interface UwsRequest {
  getCaseSensitiveMethod(): string;
  getUrl(): string;
  getQuery(): string;
  getHeader(lowerCaseName: string): string;
  forEach(visit: (name: string, value: string) => void): void;
}

/** Valid until it ends or is aborted; using it later throws. */
export interface UwsResponse {
  pause(): void;
  resume(): void;
  writeStatus(status: string): UwsResponse;
  writeHeader(name: string, value: string | Uint8Array): UwsResponse;
  write(chunk: Uint8Array): boolean;
  end(body?: Uint8Array, closeConnection?: boolean): UwsResponse;
  endWithoutBody(reportedLength?: number, closeConnection?: boolean): UwsResponse;
  tryEnd(chunk: Uint8Array, totalBytes: number): [ok: boolean, isOver: boolean];
  getWriteOffset(): number;
  close(): UwsResponse;
  onWritable(handler: (offset: number) => boolean): UwsResponse;
  onAborted(handler: () => void): UwsResponse;
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): UwsResponse;
  getRemoteAddressAsText(): ArrayBuffer;
  cork(write: () => void): UwsResponse;
  upgrade(userData: object, key: string, protocol: string, extensions: string, context: object): void;
}

export interface UwsSocket {
  send(message: string | Uint8Array, isBinary: boolean): number;
  sendFirstFragment(bytes: Uint8Array, isBinary: boolean): number;
  sendFragment(bytes: Uint8Array): number;
  sendLastFragment(bytes: Uint8Array): number;
  getBufferedAmount(): number;
  end(code: number, reason: string): void;
  close(): void;
  getUserData(): unknown;
}

interface UwsBehavior {
  maxPayloadLength: number;
  maxBackpressure: number;
  idleTimeout: number;
  sendPingsAutomatically: boolean;
  upgrade(res: UwsResponse, req: UwsRequest, context: object): void;
  open(ws: UwsSocket): void;
  message(ws: UwsSocket, message: ArrayBuffer, isBinary: boolean): void;
  /** Called after the library has answered the ping. */
  ping(ws: UwsSocket): void;
  drain(ws: UwsSocket): void;
  close(ws: UwsSocket, code: number, message: ArrayBuffer): void;
}
