import { type Place, type Provider, takesDevice } from "../../core/domain/placement/provider.js";
import type { ProviderError } from "../../core/domain/placement/provider-error.js";
import { DeviceCells } from "../models/device-cells.js";
import type { SharedPlacement } from "../models/placement.js";
import { LaneLoads } from "./lane-loads.js";

/** Told what becomes of an engine's list of providers. */
interface PlacingObserver {
  /** The engine's workers start on `to` from now on. */
  fellBack(from: Provider, to: Provider, reason: string): void;
  /** A worker is up there. */
  placed(place: Place): void;
  /** A provider that has served is lost, and no other is in the list: only another process can go on. */
  exhausted(error: ProviderError): void;
}

export interface PlacingOptions {
  /** In the order of preference, one at least. */
  readonly providers: readonly Provider[];
  /** Numbers of devices, which are dealt over the workers; one at least. */
  readonly devices: readonly number[];
  /** See `DeviceCells`. */
  readonly cells: SharedArrayBuffer;
  readonly observer: PlacingObserver;
}

/** Runs may fail so often, for want of memory or without a known reason, before the engine moves on. */
const FAILED_RUNS = 1;

/** Where the workers of one engine run their graphs: on the first provider of its list that works. */
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

  /** Places that workers are dealt over now. */
  get places(): readonly Place[] {
    return placesOf(this.provider, this.#options.devices);
  }

  /** For a worker of the engine, counted from 0; a restarted one keeps its number. */
  placementOf(lane: number): SharedPlacement {
    const { places } = this;
    return { ...places[lane % places.length]!, cells: this.#options.cells };
  }

  /**
   * What `count` sessions or pieces on a lane weigh when the next one is given to the lane with the least: so many on one
   * device, and on several by how busy each is; see `LaneLoads`.
   */
  loadOf(lane: number, count: number): number {
    const { places } = this;
    if (places.length < 2) return count;
    return this.#loads.of(lane, places[lane % places.length]!.device ?? 0, count);
  }

  /** A worker is up. */
  served({ provider, device }: Place): void {
    if (provider === this.provider) this.#hasServed = true;
    this.#options.observer.placed({ provider, device });
  }

  /** A worker's thread has ended, however it did: what it held of what all share is free. */
  threadEnded(thread: number): void {
    this.#shared.releaseLockOf(thread);
  }

  /**
   * What a provider's failure means for the engine: it moves on, unless another worker has said the same before, or the
   * worker may try once more where it was.
   * @param when a provider that does not load the graphs, or does not get through their first runs, is not tried again
   * @returns whether there is a provider to start on
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

/** The places of a provider, one for each device that it is told to use. */
export function placesOf(provider: Provider, devices: readonly number[]): readonly Place[] {
  return (takesDevice(provider) ? devices : [null]).map((device) => ({ provider, device }));
}

/** For workers whose graphs run on the CPU, and nothing asks where. */
export function onCpu(): Placing {
  const ignore = () => {};
  return new Placing({
    providers: ["cpu"],
    devices: [0],
    cells: DeviceCells.create(),
    observer: { fellBack: ignore, placed: ignore, exhausted: ignore },
  });
}
