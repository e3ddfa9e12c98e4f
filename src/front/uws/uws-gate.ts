import { countDescriptors, SpareDescriptors } from "../shared/descriptors.js";

const LOOK_EVERY_MS = 200;
/** After a slow count, the pause is this many times as long as the count. */
const REST_FACTOR = 10;
/** Listening resumes at this fraction of the limit. */
const OPEN_AGAIN_AT = 0.9;
const SPARE_DESCRIPTORS = 16;

export interface UwsGateOptions {
  readonly maxConnections: number;
  /**
   * Number of descriptors that are not connections. Null if the system does not report it; then nothing is
   * limited.
   */
  readonly ownDescriptors: number | null;
  /** Starts to listen; returns false if that is not possible now. */
  readonly open: () => boolean;
  readonly shut: () => void;
  readonly failed: (error: unknown) => void;
  /** Counts the open descriptors; tests replace it. */
  readonly count?: () => Promise<number | null>;
}

/**
 * Limits the connections of the native front, whose library reports a connection only with its first request.
 *
 * The library accepts every connection. Without a free descriptor it retries in a loop that takes a whole
 * core. So we count the descriptors of the process, and stop listening while there are too many: the system
 * then refuses connections. Until then, spare descriptors are kept for files and database connections.
 */
export class UwsGate {
  readonly #options: UwsGateOptions;
  readonly #spare = new SpareDescriptors(SPARE_DESCRIPTORS);
  #timer: NodeJS.Timeout | null = null;
  #isOpen = true;
  #isClosed = false;
  #hasFailed = false;

  constructor(options: UwsGateOptions) {
    this.#options = options;
  }

  /** Starts to count. Call it once the front listens. */
  watch(): void {
    if (this.#options.ownDescriptors === null) return;
    this.#spare.hold();
    this.#lookIn(LOOK_EVERY_MS);
  }

  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#spare.release();
  }

  #lookIn(ms: number): void {
    this.#timer = setTimeout(() => void this.#look(), ms).unref();
  }

  async #look(): Promise<void> {
    const sinceMs = performance.now();
    const descriptors = await (this.#options.count ?? countDescriptors)();
    if (this.#isClosed) return;
    if (descriptors !== null) this.#decide(descriptors);
    this.#lookIn(Math.max(LOOK_EVERY_MS, REST_FACTOR * (performance.now() - sinceMs)));
  }

  #decide(descriptors: number): void {
    const { ownDescriptors, maxConnections } = this.#options;
    const connections = descriptors - (ownDescriptors ?? 0) - this.#spare.heldCount;
    if (this.#isOpen && connections >= maxConnections) this.#shut(connections);
    else if (!this.#isOpen && connections <= maxConnections * OPEN_AGAIN_AT) this.#open();
  }

  #shut(connections: number): void {
    this.#isOpen = false;
    this.#options.shut();
    this.#spare.release();
    const found = Number.isFinite(connections)
      ? `there are ${connections} of ${this.#options.maxConnections}`
      : "no descriptor is left";
    this.#options.failed(new Error(`no connections accepted: ${found}`));
  }

  #open(): void {
    this.#isOpen = this.#options.open();
    if (this.#isOpen) this.#spare.hold();
    else if (!this.#hasFailed) this.#options.failed(new Error("cannot listen on the port again"));
    this.#hasFailed = !this.#isOpen;
  }
}
