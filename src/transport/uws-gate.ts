import { openDescriptors, SpareDescriptors } from "./descriptors.js";

const LOOK_EVERY_MS = 200;
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
  #hasFailed = false;

  constructor(options: UwsGateOptions) {
    this.#options = options;
  }

  /** Called when the front listens. */
  watch(): void {
    if (this.#options.ownDescriptors === null) return;
    this.#spare.hold();
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#spare.release();
  }

  #look(): void {
    const { ownDescriptors, maxConnections } = this.#options;
    const connections = (openDescriptors() ?? 0) - (ownDescriptors ?? 0) - this.#spare.heldCount;
    if (this.#isOpen && connections >= maxConnections) this.#shut(connections);
    else if (!this.#isOpen && connections <= maxConnections * OPEN_AGAIN_AT) this.#open();
  }

  #shut(connections: number): void {
    this.#isOpen = false;
    this.#options.shut();
    this.#spare.release();
    this.#options.failed(
      new Error(`no connections are taken: there are ${connections} of ${this.#options.maxConnections}`),
    );
  }

  #open(): void {
    this.#isOpen = this.#options.open();
    if (this.#isOpen) this.#spare.hold();
    else if (!this.#hasFailed) this.#options.failed(new Error("the port cannot be listened on again"));
    this.#hasFailed = !this.#isOpen;
  }
}
