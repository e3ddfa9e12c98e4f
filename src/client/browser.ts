import { type ClientOptions, ServiceClient } from "./client.js";
import { sendByFetch } from "./fetch-transport.js";
import type { SocketLike } from "./transport.js";

export * from "./exports.js";

/** Calls the service from browsers, and from other platforms with `fetch` and `WebSocket`. */
export class DauysClient extends ServiceClient {
  /** @throws {TypeError} if an address is not an http or https URL */
  constructor(options: ClientOptions) {
    super(options, {
      transport: sendByFetch,
      openSocket: (url, protocols) => new (socketClass())(url, protocols),
      // Proxies may log what a page sends to open a socket. A token expires after 60 s; a key does not.
      socketTakesKey: false,
    });
  }
}

function socketClass(): new (url: URL, protocols: string[]) => SocketLike {
  const { WebSocket } = globalThis as unknown as {
    readonly WebSocket: new (url: URL, protocols: string[]) => SocketLike;
  };
  return WebSocket;
}
