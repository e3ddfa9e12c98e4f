import { randomBytes } from "node:crypto";
import type { Bus } from "../../core/ports/bus.js";
import type { BusObserver, BusTls } from "./nats-bus.js";

/** Connects to the bus. The client is loaded here and nowhere else: a process without a bus does without it. */
export async function openBus(
  settings: { readonly servers: readonly string[]; readonly name: string; readonly tls: BusTls },
  observer: BusObserver,
): Promise<Bus> {
  const { connectNats } = await import("./nats-bus.js");
  const { servers, name, tls } = settings;
  const hasTls = Object.values(tls).some((file) => file !== null);
  return connectNats({ servers, name, tls: hasTls ? tls : null, observer });
}

/** Names this run of a process on the bus: another run is another peer. */
export function peerName(): string {
  return randomBytes(9).toString("base64url");
}
