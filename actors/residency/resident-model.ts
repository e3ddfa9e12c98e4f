import { ServiceError } from "../../core/domain/errors.js";
import { Actor } from "../../core/kernel/actor.js";
import type { Log } from "../../core/observe/log.js";
import type { Clock } from "../../core/ports/clock.js";
import { LeaseWaiter } from "./lease-waiter.js";
import {
  decideResidency,
  type ResidencyEffect,
  type ResidencyMessage,
  type ResidencyState,
} from "./model-residency.js";

/** An engine as its residency sees it: started once, stopped once, then another takes its place. */
export interface Engine {
  /** Settles when every worker is loaded and warmed up. */
  start(): Promise<void>;
  /** Ends the workers by message; also after a start that failed or is still on. */
  stop(): Promise<void>;
}

/** Told what becomes of the models. */
export interface ResidencyObserver {
  loaded(loadMs: number): void;
  loadFailed(): void;
  released(): void;
}

export interface ResidentModelOptions<E extends Engine> {
  /** Names the engine in the log. */
  readonly name: string;
  /** A new engine that was never started. It takes work before its start and begins with it then. */
  readonly makeEngine: () => E;
  /** Without a lease for this long the workers end; 0 means never. */
  readonly idleMs: number;
  readonly observer: ResidencyObserver;
  readonly clock: Clock;
  readonly log: Log;
}

/** The right to use an engine: its workers stay until it is given back. */
export interface Lease<E extends Engine> {
  /** The engine that serves this lease. While the lease waits, the engine is not started yet. */
  readonly engine: E;
  /** Settles when the models are loaded. Rejects with `ENGINE_BUSY`, `SHUTTING_DOWN` or, when released first, `CANCELLED`. */
  readonly granted: Promise<void>;
  /** May be called twice, and while it waits. */
  release(): void;
}

/**
 * How long work waits for its models. Live clients give up after 60 s without a word, and 60 s of their audio are kept:
 * they hear why before that. A load that takes longer goes on, and the next request finds it done.
 */
export const MODEL_WAIT_MS = 50_000;

/** Loads an engine's models when somebody needs them and gives their memory back when nobody does. */
export class ResidentModel<E extends Engine> {
  readonly #options: ResidentModelOptions<E>;
  readonly #actor: Actor<ResidencyState, ResidencyMessage, ResidencyEffect>;
  readonly #waiters = new Map<number, LeaseWaiter>();
  /** The engine that is loading or warm; while another is released, the one that comes after it. */
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

  /** How long the last load took that succeeded; null before the first. */
  get lastLoadMs(): number | null {
    return this.#lastLoadMs;
  }

  /** Loads the models before anybody needs them. @throws what the engine's start threw */
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
   * @param waitMs after this long the lease is refused, with `ENGINE_BUSY`; null waits as long as it takes
   * @throws {ServiceError} `SHUTTING_DOWN`, `ENGINE_BUSY` when it is refused at once
   */
  take(waitMs: number | null = MODEL_WAIT_MS): Lease<E> {
    const id = this.#nextLease++;
    const waiter = new LeaseWaiter();
    this.#waiters.set(id, waiter);
    if (!this.#actor.tell({ type: "acquire", lease: id })) waiter.refuse(internal());
    if (waiter.refusal !== null) throw waiter.refusal;
    if (!waiter.isSettled && waitMs !== null) {
      waiter.timer = setTimeout(() => this.#leave(id, waiter, tookTooLong()), waitMs);
    }
    const engine = () => this.#currentEngine();
    return {
      get engine() {
        return engine();
      },
      granted: waiter.promise,
      release: () =>
        this.#leave(id, waiter, new ServiceError("CANCELLED", "nobody waits for the model any more")),
    };
  }

  /**
   * Waits for a lease; aborting `signal` ends the waiting.
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
   * Works with the engine once its models are loaded, and gives it back in whatever way the work ends.
   *
   * @param onWait told how long the models were waited for, in milliseconds; 0 when they were there
   * @throws {ServiceError} as `acquire`, and whatever `work` throws
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

  /** Refuses all that wait and ends the workers. May be called twice. */
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
      const failure = new ServiceError("ENGINE_BUSY", "the model could not be loaded, try again", {
        cause: error,
      });
      this.#actor.tell({ type: "failed", error: failure });
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
    // Leases that are taken from now on wait for another one.
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
    // Memory that nobody uses is no reason to stay.
    this.#idleTimer.unref?.();
  }

  /** Gives a lease back, or refuses one that still waits. */
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

function internal(): ServiceError {
  return new ServiceError("INTERNAL", "internal error");
}

function tookTooLong(): ServiceError {
  return new ServiceError("ENGINE_BUSY", "the model is still being loaded, try again");
}
