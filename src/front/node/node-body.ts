import type { IncomingMessage } from "node:http";
import type { BodySource } from "../shared/body-queue.js";
import type { FloodWatch } from "../shared/flood-watch.js";
import { deafenConnection } from "./node-parser.js";

/** How the body of one request is read from Node's own stream. */
export class NodeBody implements BodySource {
  readonly #req: IncomingMessage;
  readonly #watch: FloodWatch;

  constructor(req: IncomingMessage, watch: FloodWatch) {
    this.#req = req;
    this.#watch = watch;
  }

  pause(): void {
    this.#req.pause();
  }

  resume(): void {
    this.#req.resume();
  }

  /** What is left of a read is not handed over any more, chunk by chunk: the pause ends only the reads after it. */
  refused(): void {
    this.#watch.flooded(this.#address);
    deafenConnection(this.#req.socket);
    // A request that hears nothing is never full, so its pause does not reach the socket, and asking for more starts it again.
    this.#req._read = () => {};
    this.#req.socket.pause();
  }

  burstShare(): number {
    return this.#watch.burstShare(this.#address);
  }

  get #address(): string {
    return this.#req.socket.remoteAddress ?? "";
  }
}
