import { RequestTimeoutError } from "./errors.js";

/** Ends one call: by the caller's signal, by its time limit, or because it is through. */
export class CallScope {
  readonly #controller = new AbortController();
  readonly #callerSignal: AbortSignal | undefined;
  readonly #timeoutMs: number;
  readonly #onCallerAbort = () => this.#controller.abort(this.#callerSignal?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param timeoutMs Infinity for none */
  constructor(callerSignal: AbortSignal | undefined, timeoutMs: number) {
    this.#callerSignal = callerSignal;
    this.#timeoutMs = timeoutMs;
    if (callerSignal?.aborted === true) this.#onCallerAbort();
    else callerSignal?.addEventListener("abort", this.#onCallerAbort);
    this.expect("an answer");
  }

  /** Aborts with the caller's reason, or with the `RequestTimeoutError`. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Begins the time limit again for the next thing that is waited for. */
  expect(what: string): void {
    clearTimeout(this.#timer);
    if (this.#timeoutMs === Number.POSITIVE_INFINITY || this.signal.aborted) return;
    const giveUp = () => this.#controller.abort(new RequestTimeoutError(this.#timeoutMs, what));
    this.#timer = setTimeout(giveUp, this.#timeoutMs);
  }

  /** No limit while the caller is at work with what came. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  /** What the call rejects with: why it was ended rather than what broke because of that. */
  failure(thrown: unknown): unknown {
    return this.signal.aborted ? this.signal.reason : thrown;
  }

  /** The call is through: nothing of it is left running. */
  end(): void {
    clearTimeout(this.#timer);
    this.#callerSignal?.removeEventListener("abort", this.#onCallerAbort);
  }
}
