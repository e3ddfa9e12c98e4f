import type { Provider } from "../../../core/domain/placement/provider.js";
import { DeviceCells } from "../../../native/models/device-cells.js";
import { Placing } from "../../../native/threads/placing.js";

/** Records where an engine's workers run, and the events of its observer. */
export interface PlacingLog {
  readonly placing: Placing;
  readonly events: string[];
}

export function placingLog(providers: readonly Provider[], devices: readonly number[] = [0]): PlacingLog {
  const events: string[] = [];
  const placing = new Placing({
    ...{ providers, devices, cells: DeviceCells.create() },
    observer: {
      placed: ({ provider, device }) => events.push(`on ${provider} ${device}`),
      fellBack: (from, to) => events.push(`${from} to ${to}`),
      exhausted: ({ kind }) => events.push(`no more: ${kind}`),
    },
  });
  return { placing, events };
}
