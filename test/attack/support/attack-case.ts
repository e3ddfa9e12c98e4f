import type { AttackedService } from "./attacked-service.js";
import {
  type FloodReport,
  floodRequests,
  floodSockets,
  floodUploads,
  type RequestFloodArgs,
  type SocketFloodArgs,
  type UploadFloodArgs,
} from "./floods.js";
import { runInThread } from "./in-thread.js";

/** Target and size of an attack. */
interface AttackContext {
  readonly service: AttackedService;
  /** Key of an organization that only attacks. */
  readonly key: string;
  readonly seconds: number;
}

/** A row of the table: how much was sent, and what the attacker got. */
interface AttackOutcome {
  readonly count: number;
  readonly outcome: string;
}

/** An attack, which is one row in the table of `npm run attack`. */
export interface AttackCase {
  readonly name: string;
  /** Runs for about `seconds`; floods run on separate threads. If it throws, the row has failed. */
  run(context: AttackContext): Promise<AttackOutcome>;
}

const FLOODS = new URL("./floods.js", import.meta.url);

/** An attack by WebSockets that send the same frames as fast as the service accepts them. */
export function socketFlood(
  name: string,
  args: Pick<SocketFloodArgs, "unit"> & Partial<Omit<SocketFloodArgs, "unit" | "port" | "key" | "seconds">>,
): AttackCase {
  return {
    name,
    run: async ({ service, key, seconds }) => {
      const all = {
        path: "/v1/stream",
        sockets: 2,
        comesBack: true,
        ...args,
        port: service.port,
        key,
        seconds,
      };
      return outcomeOf(
        await runInThread<SocketFloodArgs, FloodReport>(FLOODS, floodSockets.name, all).result,
      );
    },
  };
}

/** An attack by uploads in small chunks whose clients leave before the end. */
export function uploadFlood(
  name: string,
  args: Omit<UploadFloodArgs, "port" | "key" | "seconds">,
): AttackCase {
  return {
    name,
    run: async ({ service, key, seconds }) =>
      outcomeOf(
        await runInThread<UploadFloodArgs, FloodReport>(FLOODS, floodUploads.name, {
          ...args,
          port: service.port,
          key,
          seconds,
        }).result,
      ),
  };
}

/** An attack by pipelined requests. `unit` gets the attacker's key. */
export function requestFlood(
  name: string,
  {
    unit,
    ...args
  }: { readonly unit: (key: string) => string } & Omit<RequestFloodArgs, "unit" | "port" | "seconds">,
): AttackCase {
  return {
    name,
    run: async ({ service, key, seconds }) =>
      outcomeOf(
        await runInThread<RequestFloodArgs, FloodReport>(FLOODS, floodRequests.name, {
          ...args,
          unit: unit(key),
          port: service.port,
          seconds,
        }).result,
      ),
  };
}

function outcomeOf({ sent, opened, endings }: FloodReport): AttackOutcome {
  const shown = Object.entries(endings).map(([ending, count]) => `${ending} ${count}`);
  return { count: sent, outcome: `${opened} opened: ${shown.join(", ")}` };
}
