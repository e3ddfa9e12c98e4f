import { type Place, type Provider, takesDevice } from "../../core/domain/placement/provider.js";
import type { ProviderError } from "../../core/domain/placement/provider-error.js";
import { DeviceCells } from "../models/device-cells.js";
import type { SharedPlacement } from "../models/placement.js";
import { LaneLoads } from "./lane-loads.js";

/** Receives the changes of an engine's placement. */
interface PlacingObserver {
  /** Reports that the engine's workers start on `to` from now on. */
  fellBack(from: Provider, to: Provider, reason: string): void;
  placed(place: Place): void;
  /** Reports that the last provider failed after it had served: only a new process can recover. */
  exhausted(error: ProviderError): void;
}

export interface PlacingOptions {
  /** Providers in order of preference, at least one. */
  readonly providers: readonly Provider[];
  /** Device numbers, distributed over the workers; at least one. */
  readonly devices: readonly number[];
  /** See `DeviceCells`. */
  readonly cells: SharedArrayBuffer;
  readonly observer: PlacingObserver;
}

/**
 * Number of failed runs, from lack of memory or an unknown cause, that are tolerated before the next
 * provider.
 */
const FAILED_RUNS = 1;

/** Places the workers of an engine on the first provider of its list that works. */
export class Placing {
  readonly #options: PlacingOptions;
  readonly #shared: DeviceCells;
  readonly #loads: LaneLoads;
  #at = 0;
  #hasServed = false;
  #failedRuns = 0;

  constructor(options: PlacingOptions) {
    this.#options = options;
    this.#shared = new DeviceCells(options.cells);
    this.#loads = new LaneLoads(this.#shared);
  }

  get provider(): Provider {
    return this.#options.providers[this.#at]!;
  }

  /** The places over which workers are distributed. */
  get places(): readonly Place[] {
    return placesOf(this.provider, this.#options.devices);
  }

  /** Returns a worker's place; lanes count from 0, and a restarted worker keeps its lane. */
  placementOf(lane: number): SharedPlacement {
    const { places } = this;
    return { ...places[lane % places.length]!, cells: this.#options.cells };
  }

  /** Returns a lane's load with `count` sessions or pieces; on several devices by `LaneLoads`. */
  loadOf(lane: number, count: number): number {
    const { places } = this;
    if (places.length < 2) return count;
    return this.#loads.of(lane, places[lane % places.length]!.device ?? 0, count);
  }

  served({ provider, device }: Place): void {
    if (provider === this.provider) this.#hasServed = true;
    this.#options.observer.placed({ provider, device });
  }

  /** Frees the lock that an ended thread may still hold. */
  threadEnded(thread: number): void {
    this.#shared.releaseLockOf(thread);
  }

  /**
   * Handles a provider's failure: moves to the next provider, unless another worker has already reported it
   * or the failure is tolerated.
   * @param when failures at load or warm-up are never tolerated
   * @returns whether another provider is available
   */
  failed(error: ProviderError, when: "at load" | "later"): boolean {
    if (error.provider !== this.provider) return true;
    const mayRecover = when === "later" && (error.kind === "out-of-memory" || error.kind === "other");
    if (mayRecover && this.#failedRuns++ < FAILED_RUNS) return true;
    const { providers, observer } = this.#options;
    const next = providers[this.#at + 1];
    if (next === undefined) {
      if (this.#hasServed) observer.exhausted(error);
      return false;
    }
    this.#at++;
    this.#hasServed = false;
    this.#failedRuns = 0;
    observer.fellBack(error.provider, next, error.message);
    return true;
  }
}

/** Lists a provider's places, one per configured device. */
export function placesOf(provider: Provider, devices: readonly number[]): readonly Place[] {
  return (takesDevice(provider) ? devices : [null]).map((device) => ({ provider, device }));
}

/** Makes a placement on the CPU, without an observer. */
export function onCpu(): Placing {
  const ignore = () => {};
  return new Placing({
    providers: ["cpu"],
    devices: [0],
    cells: DeviceCells.create(),
    observer: { fellBack: ignore, placed: ignore, exhausted: ignore },
  });
}
