import type { Provider } from "../../../core/domain/placement/provider.js";
import { DeviceCells } from "../../../native/models/device-cells.js";
import { Placing } from "../../../native/threads/placing.js";

/** Where an engine's workers run, and in `told` what it has said of that. */
export interface PlacingLog {
  readonly placing: Placing;
  readonly told: string[];
}

export function placingLog(providers: readonly Provider[], devices: readonly number[] = [0]): PlacingLog {
  const told: string[] = [];
  const placing = new Placing({
    ...{ providers, devices, cells: DeviceCells.create() },
    observer: {
      placed: ({ provider, device }) => told.push(`on ${provider} ${device}`),
      fellBack: (from, to) => told.push(`${from} to ${to}`),
      exhausted: ({ kind }) => told.push(`no more: ${kind}`),
    },
  });
  return { placing, told };
}
