import type { Child } from "../../core/kernel/supervisor.js";
import { type Deferred, deferred } from "./deferred.js";

/** A child process that runs until it is stopped or made to fail. */
export class FakeChild implements Child {
  readonly ended: Promise<Error | null>;
  stopCalls = 0;
  readonly #ending: Deferred<Error | null> = deferred();

  constructor() {
    this.ended = this.#ending.promise;
  }

  /** Makes the child end with an error. */
  fail(reason: Error): void {
    this.#ending.resolve(reason);
  }

  async stop(): Promise<void> {
    this.stopCalls++;
    this.#ending.resolve(null);
    await this.ended;
  }
}
