import { type ClientRequest, get } from "node:http";
import type { UwsApp, UwsBinding, UwsResponse } from "./uws-binding.js";

const LOOPBACK = "127.0.0.1";

/**
 * Lets late upgrades be written inside of a cork that is not their own.
 *
 * The library wants every late write inside of a cork. But an upgrade inside of its response's own cork makes it read
 * what it has freed when the cork ends, and now and then it closes the new socket then
 * (https://github.com/uNetworking/uWebSockets/pull/1929, not in 20.57 yet). The cork of any other response
 * does, so one is kept that is never answered: both ends of it are here.
 */
export class UwsCorkHost {
  readonly #binding: UwsBinding;
  readonly #failed: (error: unknown) => void;
  #app: UwsApp | null = null;
  #request: ClientRequest | null = null;
  #response: UwsResponse | null = null;
  #isClosed = false;

  /** @param failed told when the connection is lost and cannot be made again */
  constructor(binding: UwsBinding, failed: (error: unknown) => void) {
    this.#binding = binding;
    this.#failed = failed;
  }

  /** @throws when this machine does not let us connect to ourselves */
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

  /** Calls `write` in the cork. Without a connection there is none, and the library says so on standard error. */
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
