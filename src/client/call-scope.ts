import { RequestTimeoutError } from "./errors.js";

/** Aborts one call when its caller aborts it or it times out. */
export class CallScope {
  readonly #controller = new AbortController();
  readonly #callerSignal: AbortSignal | undefined;
  readonly #timeoutMs: number;
  readonly #onCallerAbort = () => this.#controller.abort(this.#callerSignal?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param timeoutMs Infinity for no timeout */
  constructor(callerSignal: AbortSignal | undefined, timeoutMs: number) {
    this.#callerSignal = callerSignal;
    this.#timeoutMs = timeoutMs;
    if (callerSignal?.aborted === true) this.#onCallerAbort();
    else callerSignal?.addEventListener("abort", this.#onCallerAbort);
    this.startTimer("the response");
  }

  /** Aborts with the caller's reason or a `RequestTimeoutError`. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Restarts the timeout. @param awaited what the call waits for; ends the message of the timeout error */
  startTimer(awaited: string): void {
    clearTimeout(this.#timer);
    if (this.#timeoutMs === Number.POSITIVE_INFINITY || this.signal.aborted) return;
    const giveUp = () => this.#controller.abort(new RequestTimeoutError(this.#timeoutMs, awaited));
    this.#timer = setTimeout(giveUp, this.#timeoutMs);
  }

  /** Stops the timeout while the caller processes data. */
  stopTimer(): void {
    clearTimeout(this.#timer);
  }

  /**
   * Returns the error to reject with: if the call was aborted, the reason, not an error that the abort
   * caused.
   */
  failure(thrown: unknown): unknown {
    return this.signal.aborted ? this.signal.reason : thrown;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#callerSignal?.removeEventListener("abort", this.#onCallerAbort);
  }
}
