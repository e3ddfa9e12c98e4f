import { randomBytes } from "node:crypto";
import type { Bus } from "../../core/ports/bus.js";
import type { BusObserver, BusTls } from "./nats-bus.js";

/** Connects to the bus. Loads the NATS client on demand, so that processes without a bus do not need it. */
export async function openBus(
  settings: { readonly servers: readonly string[]; readonly name: string; readonly tls: BusTls },
  observer: BusObserver,
): Promise<Bus> {
  const { connectNats } = await import("./nats-bus.js");
  const { servers, name, tls } = settings;
  const hasTls = Object.values(tls).some((file) => file !== null);
  return connectNats({ servers, name, tls: hasTls ? tls : null, observer });
}

/** Generates a name for this process on the bus. After a restart, the process counts as a different peer. */
export function peerName(): string {
  return randomBytes(9).toString("base64url");
}
