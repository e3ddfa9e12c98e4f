import type { Engine, ResidencyObserver } from "../../actors/residency/resident-model.js";
import { type Deferred, deferred } from "./deferred.js";

/** Engines whose starts and stops complete when the test decides. They record misuse. */
export class FakeEngines {
  readonly made: FakeEngine[] = [];
  /** The violated rules, of which there must be none. */
  readonly faults: string[] = [];
  readonly observed: string[] = [];
  readonly observer: ResidencyObserver = {
    loaded: () => void this.observed.push("loaded"),
    loadFailed: () => void this.observed.push("failed"),
    released: () => void this.observed.push("released"),
  };

  readonly make = (): FakeEngine => {
    const engine = new FakeEngine(this);
    this.made.push(engine);
    return engine;
  };

  /** Engines that started and have not stopped. */
  get running(): FakeEngine[] {
    return this.made.filter((engine) => engine.isRunning);
  }

  /** The engine that is starting. */
  get starting(): FakeEngine | undefined {
    return this.made.find((engine) => engine.phase === "starting");
  }

  /** The engine that is stopping. */
  get stopping(): FakeEngine | undefined {
    return this.made.find((engine) => engine.phase === "stopping");
  }
}

export class FakeEngine implements Engine {
  phase: "new" | "starting" | "started" | "failed" | "stopping" | "stopped" = "new";
  /** The number of current users of the engine. */
  useCount = 0;
  readonly #engines: FakeEngines;
  readonly #start: Deferred<void> = deferred();
  readonly #stop: Deferred<void> = deferred();

  constructor(engines: FakeEngines) {
    this.#engines = engines;
  }

  get isRunning(): boolean {
    return this.phase !== "new" && this.phase !== "stopped";
  }

  start(): Promise<void> {
    if (this.phase !== "new") this.#engines.faults.push("started twice");
    if (this.#engines.running.length > 0) this.#engines.faults.push("started beside another one");
    this.phase = "starting";
    return this.#start.promise;
  }

  stop(): Promise<void> {
    if (this.useCount > 0) this.#engines.faults.push("stopped while in use");
    if (this.phase === "new" || this.phase === "stopping")
      this.#engines.faults.push(`stopped when ${this.phase}`);
    this.phase = "stopping";
    this.#start.resolve();
    return this.#stop.promise;
  }

  hasStarted(): void {
    this.phase = "started";
    this.#start.resolve();
  }

  hasFailed(error: Error): void {
    this.phase = "failed";
    this.#start.reject(error);
  }

  hasStopped(): void {
    this.phase = "stopped";
    this.#stop.resolve();
  }
}
