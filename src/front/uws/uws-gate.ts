import { countDescriptors, SpareDescriptors } from "../shared/descriptors.js";

const LOOK_EVERY_MS = 200;
/** Between two looks that take long is so much more time than they take. */
const REST_FACTOR = 10;
/** Below this part of the limit connections are taken again. */
const OPEN_AGAIN_AT = 0.9;
const SPARE_DESCRIPTORS = 16;

export interface UwsGateOptions {
  readonly maxConnections: number;
  /** Descriptors that the process has without connections; null where the system does not say, and nothing is limited. */
  readonly ownDescriptors: number | null;
  /** Begins to listen; false when that is not possible now. */
  readonly open: () => boolean;
  readonly shut: () => void;
  readonly failed: (error: unknown) => void;
  /** How many descriptors the process has now. */
  readonly count?: () => Promise<number | null>;
}

/**
 * Bounds the connections of the native front, whose library says nothing of them before they ask for something.
 *
 * It accepts whatever comes, and where the process has no descriptor left it tries again without end, which takes a whole
 * core. So the descriptors of the process are counted, and while there are too many of them nobody listens: who
 * connects is refused by the system. What others need meanwhile, files and connections to the database, is held spare.
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

  /** Called when the front listens. */
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
    this.#options.failed(new Error(`no connections are taken: ${found}`));
  }

  #open(): void {
    this.#isOpen = this.#options.open();
    if (this.#isOpen) this.#spare.hold();
    else if (!this.#hasFailed) this.#options.failed(new Error("the port cannot be listened on again"));
    this.#hasFailed = !this.#isOpen;
  }
}
