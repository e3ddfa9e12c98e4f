import type { BodySource } from "../shared/body-queue.js";
import type { FloodWatch } from "../shared/flood-watch.js";
import type { UwsResponse } from "./uws-binding.js";

/** How often the library's timer of ten seconds is wound up while it must not cut a client. */
const REWIND_MS = 4_000;

/**
 * How the body of one request is read: paused and resumed, without the library's own timer coming in between.
 *
 * The library arms that timer with every piece of a body and with every `resume`, also when the body was complete by
 * then, and nothing but the end of the answer disarms it: so it is wound up from the first of them to that end.
 */
export class UwsReading implements BodySource {
  /** Of the sender. */
  remoteAddress = "";
  readonly #watch: FloodWatch;
  #res: UwsResponse | null;
  #timer: NodeJS.Timeout | null = null;
  #isPaused = false;
  #isComplete = false;

  constructor(res: UwsResponse, watch: FloodWatch) {
    this.#res = res;
    this.#watch = watch;
  }

  /** Whether all of the body has come. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** A piece of the body has come, which was not the last. */
  arrived(): void {
    this.#start();
  }

  /** The body has come, or there is none. Reading goes on, or the client could leave unnoticed. */
  complete(): void {
    this.#isComplete = true;
    this.resume();
  }

  pause(): void {
    if (this.#res === null || this.#isComplete || this.#isPaused) return;
    this.#isPaused = true;
    this.#res.pause();
  }

  resume(): void {
    if (this.#res === null || !this.#isPaused) return;
    this.#isPaused = false;
    this.#res.resume();
    this.#start();
  }

  refused(): void {
    this.#watch.flooded(this.remoteAddress);
  }

  burstShare(): number {
    return this.#watch.burstShare(this.remoteAddress);
  }

  /** The native object is not to be touched any more. */
  stop(): void {
    this.#res = null;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #start(): void {
    this.#timer ??= setInterval(() => this.rewind(), REWIND_MS);
  }

  /** Winds the library's timer up: going there and back again leaves the socket as it was. */
  rewind(): void {
    const res = this.#res;
    if (res === null) return;
    if (this.#isPaused) {
      res.resume();
      res.pause();
    } else {
      res.pause();
      res.resume();
    }
  }
}
