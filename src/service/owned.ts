import type { Log } from "../../core/observe/log.js";

/** Parts that were started, to be stopped in reverse order. */
export class Owned {
  readonly #log: Log;
  readonly #children: { readonly name: string; stop(): Promise<void> }[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  add(name: string, stop: () => Promise<void>): void {
    this.#children.push({ name, stop });
  }

  /** May be called twice. Never rejects. */
  async stop(): Promise<void> {
    for (const { name, stop } of this.#children.splice(0).reverse()) {
      await stop().catch((error: unknown) => this.#log.error({ err: error, child: name }, "stop failed"));
    }
  }
}
