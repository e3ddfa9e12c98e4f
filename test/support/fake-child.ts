import type { Child } from "../../core/kernel/supervisor.js";
import { type Deferred, deferred } from "./deferred.js";

/** A child that lives until it is stopped or told to fail. */
export class FakeChild implements Child {
  readonly ended: Promise<Error | null>;
  stopCalls = 0;
  readonly #ending: Deferred<Error | null> = deferred();

  constructor() {
    this.ended = this.#ending.promise;
  }

  /** Ends by itself. */
  fail(reason: Error): void {
    this.#ending.resolve(reason);
  }

  async stop(): Promise<void> {
    this.stopCalls++;
    this.#ending.resolve(null);
    await this.ended;
  }
}
