import { type ClientRequest, get } from "node:http";
import type { UwsApp, UwsBinding, UwsResponse } from "./uws-binding.js";

const LOOPBACK = "127.0.0.1";

/**
 * Keeps a response open, so that late upgrades can be written inside its cork.
 *
 * The library expects late writes inside a cork. But an upgrade inside its own response's cork makes it read
 * freed memory when the cork ends, and sometimes it then closes the new socket
 * (https://github.com/uNetworking/uWebSockets/pull/1929, not in 20.57). The cork of any other response works.
 * So this class holds both ends of a connection whose request is never answered.
 */
export class UwsCorkHost {
  readonly #binding: UwsBinding;
  readonly #failed: (error: unknown) => void;
  #app: UwsApp | null = null;
  #request: ClientRequest | null = null;
  #response: UwsResponse | null = null;
  #isClosed = false;

  /** @param failed called if the connection is lost and cannot be opened again */
  constructor(binding: UwsBinding, failed: (error: unknown) => void) {
    this.#binding = binding;
    this.#failed = failed;
  }

  /** @throws if connecting to 127.0.0.1 fails */
  async open(): Promise<void> {
    const app = this.#binding.App();
    this.#app = app;
    const arrived = new Promise<UwsResponse>((resolve) => {
      app.any("/*", (response) => {
        response.onAborted(() => this.#lost());
        resolve(response);
      });
    });
    const { port, stopListening } = await listen(this.#binding, app);
    try {
      this.#request = get({ host: LOOPBACK, port, agent: false });
      const failed = new Promise<never>((_, reject) => this.#request?.on("error", reject));
      this.#response = await Promise.race([arrived, failed]);
    } finally {
      stopListening();
    }
  }

  /**
   * Runs `write` in the cork. If the connection was lost, runs it outside, and the library prints a warning.
   */
  run(write: () => void): void {
    if (this.#response === null) write();
    else this.#response.cork(write);
  }

  close(): void {
    this.#isClosed = true;
    this.#response = null;
    this.#request?.destroy();
    this.#app?.close();
  }

  #lost(): void {
    this.#response = null;
    if (!this.#isClosed) this.open().catch(this.#failed);
  }
}

function listen(
  binding: UwsBinding,
  app: UwsApp,
): Promise<{ readonly port: number; readonly stopListening: () => void }> {
  return new Promise((resolve, reject) => {
    app.listen(LOOPBACK, 0, binding.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
      if (socket === false) return reject(new Error(`Cannot listen on ${LOOPBACK}`));
      const port = binding.us_socket_local_port(socket);
      resolve({ port, stopListening: () => binding.us_listen_socket_close(socket) });
    });
  });
}
