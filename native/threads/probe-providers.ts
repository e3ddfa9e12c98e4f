import "../models/no-telemetry.js";
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Provider } from "../../core/domain/placement/provider.js";
import type { SharedPlacement } from "../models/placement.js";
import { placesOf } from "./placing.js";
import type { ProbeAnswers } from "./probe-worker.js";

const ENTRY = new URL("./probe-worker.js", import.meta.url);

/**
 * Tests providers in a separate thread, since the main thread has no graphs.
 * @returns the reason for each provider that fails on at least one device
 */
export async function probeProviders(
  providers: readonly Provider[],
  devices: readonly number[],
  cells: SharedArrayBuffer,
): Promise<ReadonlyMap<Provider, string>> {
  const places = providers.flatMap((provider) => placesOf(provider, devices));
  const placements: readonly SharedPlacement[] = places.map((place) => ({ ...place, cells }));
  const worker = new Worker(ENTRY, { name: "provider-probe", workerData: placements });
  const ended = once(worker, "exit");
  const [answers] = (await once(worker, "message")) as [ProbeAnswers];
  // The thread's end releases the runtime's resources: nothing else may start earlier.
  await ended;
  const missing = new Map<Provider, string>();
  for (const [index, { provider }] of places.entries()) {
    const reason = answers[index] ?? null;
    if (reason !== null && !missing.has(provider)) missing.set(provider, reason);
  }
  return missing;
}
