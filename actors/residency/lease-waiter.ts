import type { ServiceError } from "../../core/domain/errors.js";

/** A lease that was asked for. */
export class LeaseWaiter {
  readonly promise: Promise<void>;
  timer: NodeJS.Timeout | undefined;
  /** Granted or refused. */
  isSettled = false;
  /** Refused or given back: there is nothing to leave any more. */
  isOver = false;
  refusal: ServiceError | null = null;
  #resolve: () => void = () => {};
  #reject: (error: ServiceError) => void = () => {};

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // A lease may be refused before anybody waits for it.
    this.promise.catch(() => {});
  }

  grant(): void {
    this.isSettled = true;
    clearTimeout(this.timer);
    this.#resolve();
  }

  /** After a grant it changes nothing but that the lease is over. */
  refuse(error: ServiceError): void {
    this.isOver = true;
    if (this.isSettled) return;
    this.isSettled = true;
    this.refusal = error;
    clearTimeout(this.timer);
    this.#reject(error);
  }
}
