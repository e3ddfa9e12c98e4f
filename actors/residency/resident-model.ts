import { ServiceError } from "../../core/domain/errors.js";
import { Actor } from "../../core/kernel/actor.js";
import { deferred } from "../../core/kernel/deferred.js";
import type { Log } from "../../core/observe/log.js";
import type { Clock } from "../../core/ports/clock.js";
import {
  decideResidency,
  type ResidencyEffect,
  type ResidencyMessage,
  type ResidencyState,
} from "./model-residency.js";

/** An engine is started once and stopped once, and then replaced by another. */
export interface Engine {
  /** Resolves when every worker is loaded and warmed up. */
  start(): Promise<void>;
  /** Asks the workers to end; also works during a start, or after a failed one. */
  stop(): Promise<void>;
}

/** Counts loads, for metrics. */
export interface ResidencyObserver {
  loaded(loadMs: number): void;
  loadFailed(): void;
  released(): void;
}

export interface ResidentModelOptions<E extends Engine> {
  /** Name of the engine in the log. */
  readonly name: string;
  /** Creates an engine that queues work until it is started. */
  readonly makeEngine: () => E;
  /** Time without a lease after which the workers end; 0 for never. */
  readonly idleMs: number;
  readonly observer: ResidencyObserver;
  readonly clock: Clock;
  readonly log: Log;
}

/** Permission to use an engine, whose workers stay alive until the lease is released. */
export interface Lease<E extends Engine> {
  /** The engine that serves this lease; not yet started while the lease waits. */
  readonly engine: E;
  /** Resolves when the models are loaded. Rejects with `ENGINE_BUSY`, `SHUTTING_DOWN` or `CANCELLED`. */
  readonly granted: Promise<void>;
  /** May be called twice, and while the lease waits. */
  release(): void;
}

/**
 * Time for which work waits for its models. Live clients give up after 60 s without a message, and 60 s of
 * their audio is kept, so they get the reason before that. A load that takes longer continues for the next
 * request.
 */
export const MODEL_WAIT_MS = 50_000;

/** Loads an engine's models on demand, and frees their memory when they have been idle. */
export class ResidentModel<E extends Engine> {
  readonly #options: ResidentModelOptions<E>;
  readonly #actor: Actor<ResidencyState, ResidencyMessage, ResidencyEffect>;
  readonly #waiters = new Map<number, LeaseWaiter>();
  /** The engine that is loading or warm; while one engine is released, the next one. */
  #engine: E | null = null;
  #nextLease = 0;
  #lastLoadMs: number | null = null;
  #idleTimer: NodeJS.Timeout | undefined;
  #unloading: Promise<void> = Promise.resolve();

  constructor(options: ResidentModelOptions<E>) {
    this.#options = options;
    this.#actor = new Actor({
      initial: { phase: "cold" },
      decide: decideResidency,
      perform: (effect) => this.#perform(effect),
      onCrash: (error) => this.#crash(error),
    });
  }

  get phase(): ResidencyState["phase"] {
    return this.#actor.state.phase;
  }

  /** The engine while its models are loaded, else null. */
  get warmEngine(): E | null {
    return this.phase === "warm" ? this.#engine : null;
  }

  /** Duration of the last successful load; null before the first. */
  get lastLoadMs(): number | null {
    return this.#lastLoadMs;
  }

  /** Loads the models in advance. @throws the error of the engine's start */
  async preload(): Promise<void> {
    const lease = this.take(null);
    try {
      await lease.granted;
    } catch (error) {
      throw error instanceof ServiceError && error.cause !== undefined ? error.cause : error;
    } finally {
      lease.release();
    }
  }

  /**
   * Takes a lease without waiting for it.
   *
   * @param waitMs time after which the lease is rejected with `ENGINE_BUSY`; null waits until the load is
   * done
   * @throws {ServiceError} `SHUTTING_DOWN`, `ENGINE_BUSY` when it is rejected immediately
   */
  take(waitMs: number | null = MODEL_WAIT_MS): Lease<E> {
    const id = this.#nextLease++;
    const waiter = new LeaseWaiter();
    this.#waiters.set(id, waiter);
    if (!this.#actor.tell({ type: "acquire", lease: id })) waiter.refuse(internal());
    if (waiter.refusal !== null) throw waiter.refusal;
    if (!waiter.isSettled && waitMs !== null) {
      const busy = new ServiceError("ENGINE_BUSY", "the model is still being loaded, try again");
      waiter.timer = setTimeout(() => this.#leave(id, waiter, busy), waitMs);
    }
    const engine = () => this.#currentEngine();
    return {
      get engine() {
        return engine();
      },
      granted: waiter.promise,
      release: () => this.#leave(id, waiter, new ServiceError("CANCELLED", "the lease was released")),
    };
  }

  /**
   * Waits for a lease; aborting `signal` stops waiting.
   * @throws {ServiceError} `CANCELLED`, `ENGINE_BUSY`, `SHUTTING_DOWN`
   */
  async acquire(signal: AbortSignal): Promise<Lease<E>> {
    const cancelled = () => new ServiceError("CANCELLED", "the work was cancelled");
    if (signal.aborted) throw cancelled();
    const lease = this.take();
    const onAbort = () => lease.release();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await lease.granted;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
    if (signal.aborted) throw cancelled();
    return lease;
  }

  /**
   * Runs `work` with the engine once its models are loaded, and always releases the lease.
   * @param onWait called with the milliseconds spent waiting for the models
   * @throws {ServiceError} as `acquire`, and everything that `work` throws
   */
  async use<T>(
    signal: AbortSignal,
    work: (engine: E) => Promise<T>,
    onWait: (waitedMs: number) => void = () => {},
  ): Promise<T> {
    const { clock } = this.#options;
    const askedAtMs = clock.nowMs();
    let lease: Lease<E>;
    try {
      lease = await this.acquire(signal);
    } finally {
      onWait(clock.nowMs() - askedAtMs);
    }
    try {
      return await work(lease.engine);
    } finally {
      lease.release();
    }
  }

  /** Rejects all waiting leases and ends the workers. May be called twice. */
  async stop(): Promise<void> {
    this.#actor.tell({ type: "stop" });
    await this.#unloading;
  }

  #perform(effect: ResidencyEffect): void {
    switch (effect.type) {
      case "load":
        void this.#load();
        return;
      case "unload":
        this.#unloading = this.#unload();
        return;
      case "grant":
        this.#takeWaiter(effect.lease)?.grant();
        return;
      case "refuse":
        this.#takeWaiter(effect.lease)?.refuse(effect.error);
        return;
      case "await-idle":
        this.#awaitIdle();
        return;
      case "cancel-idle":
        clearTimeout(this.#idleTimer);
    }
  }

  async #load(): Promise<void> {
    const { name, clock, observer, log } = this.#options;
    const startedAtMs = clock.nowMs();
    try {
      await this.#currentEngine().start();
    } catch (error) {
      if (this.phase !== "loading") return;
      log.error({ engine: name, err: error }, "model not loaded");
      observer.loadFailed();
      const message = "the model could not be loaded, try again";
      this.#actor.tell({ type: "failed", error: new ServiceError("ENGINE_BUSY", message, { cause: error }) });
      return;
    }
    // The service stopped meanwhile, and the engine with it.
    if (this.phase !== "loading") return;
    const loadMs = clock.nowMs() - startedAtMs;
    log.info({ engine: name, loadMs: Math.round(loadMs) }, "model loaded");
    observer.loaded(loadMs);
    this.#lastLoadMs = loadMs;
    this.#actor.tell({ type: "loaded" });
  }

  async #unload(): Promise<void> {
    const { name, observer, log } = this.#options;
    const engine = this.#engine;
    // New leases wait for the next engine.
    this.#engine = null;
    try {
      await engine?.stop();
      log.info({ engine: name }, "model released");
    } catch (error) {
      log.error({ engine: name, err: error }, "engine did not stop");
    }
    observer.released();
    this.#actor.tell({ type: "released" });
  }

  #currentEngine(): E {
    this.#engine ??= this.#options.makeEngine();
    return this.#engine;
  }

  #awaitIdle(): void {
    const { idleMs } = this.#options;
    if (idleMs === 0) return;
    this.#idleTimer = setTimeout(() => this.#actor.tell({ type: "idle" }), idleMs);
    // The timer must not keep the process alive.
    this.#idleTimer.unref?.();
  }

  /** Releases a granted lease, or rejects a waiting one. */
  #leave(id: number, waiter: LeaseWaiter, reason: ServiceError): void {
    if (waiter.isOver) return;
    waiter.isOver = true;
    this.#waiters.delete(id);
    waiter.refuse(reason);
    this.#actor.tell({ type: "leave", lease: id });
  }

  #crash(error: unknown): void {
    this.#options.log.fatal({ engine: this.#options.name, err: error }, "model residency crashed");
    for (const waiter of this.#waiters.values()) waiter.refuse(internal());
    this.#waiters.clear();
  }

  #takeWaiter(lease: number): LeaseWaiter | undefined {
    const waiter = this.#waiters.get(lease);
    this.#waiters.delete(lease);
    return waiter;
  }
}

/** The caller's side of a requested lease. */
class LeaseWaiter {
  readonly #granted = deferred<void>();
  readonly promise = this.#granted.promise;
  timer: NodeJS.Timeout | undefined;
  /** True once the lease is granted or refused. */
  isSettled = false;
  /** True once the lease is rejected or released, so that nothing is left to do. */
  isOver = false;
  refusal: ServiceError | null = null;

  constructor() {
    // The promise may reject before anyone awaits it.
    this.promise.catch(() => {});
  }

  grant(): void {
    this.isSettled = true;
    clearTimeout(this.timer);
    this.#granted.resolve();
  }

  /** After a grant this only marks the lease as over. */
  refuse(error: ServiceError): void {
    this.isOver = true;
    if (this.isSettled) return;
    this.isSettled = true;
    this.refusal = error;
    clearTimeout(this.timer);
    this.#granted.reject(error);
  }
}

function internal(): ServiceError {
  return new ServiceError("INTERNAL", "internal error");
}
