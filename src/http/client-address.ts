import { BlockList, isIP } from "node:net";
import type { FrontRequest } from "../../core/ports/front.js";

/** Prefix of IPv4 addresses that are mapped into IPv6. */
const MAPPED = "::ffff:";
const MAPPED_BITS = 96;
/** An IPv6 client usually controls the whole /64 network of its address. */
const CLIENT_GROUPS = 4;
const GROUPS = 8;

/** Finds the client addresses of requests that arrive through trusted proxies. */
export class TrustedProxies {
  readonly #networks = new BlockList();

  /** @param networks in CIDR notation */
  constructor(networks: readonly string[]) {
    for (const network of networks) {
      const [name = "", bits = ""] = network.split("/");
      const address = canonicalAddress(name);
      if (address === null) throw new Error(`Cannot trust proxies in ${network}: it must be a network`);
      // A network of mapped addresses is really an IPv4 network.
      const isMapped = isIP(name) === 6 && isIP(address) === 4;
      const prefix = Number(bits) - (isMapped ? MAPPED_BITS : 0);
      if (prefix < 0)
        throw new Error(`Cannot trust proxies in ${network}: mapped IPv4 has ${MAPPED_BITS} bits and more`);
      this.#networks.addSubnet(address, prefix, familyOf(address));
    }
  }

  /**
   * Returns the client's address: that of the connection, unless it is a trusted proxy. Then
   * `X-Forwarded-For` is read from the right, where each proxy appends its peer, up to the first address that
   * is not a trusted proxy. Clients can forge everything to the left of it. An invalid entry ends the search
   * at the proxy that wrote it.
   */
  clientOf(request: Pick<FrontRequest, "remoteAddress" | "header">): string {
    let client = canonicalAddress(request.remoteAddress) ?? request.remoteAddress;
    const forwarded = request.header("x-forwarded-for") ?? "";
    let end = forwarded.length;
    while (end > 0 && this.#trusts(client)) {
      const comma = forwarded.lastIndexOf(",", end - 1);
      const before = canonicalAddress(withoutPort(forwarded.slice(comma + 1, end).trim()));
      if (before === null) return client;
      client = before;
      end = comma;
    }
    return client;
  }

  #trusts(address: string): boolean {
    return isIP(address) !== 0 && this.#networks.check(address, familyOf(address));
  }
}

/** Returns the key under which a client's attempts are counted: an IPv6 client has 2^64 addresses to try. */
export function countedAddress(address: string): string {
  if (isIP(address) !== 6) return address;
  return `${groupsOf(address).slice(0, CLIENT_GROUPS).join(":")}::/64`;
}

/**
 * Normalizes an address: IPv4 (also mapped) in dotted form, IPv6 short and in lower case. Null if invalid.
 */
export function canonicalAddress(text: string): string | null {
  const [address = ""] = text.split("%", 1);
  const version = isIP(address);
  if (version !== 6) return version === 4 ? address : null;
  const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  if (!canonical.startsWith(MAPPED)) return canonical;
  const [high = 0, low = 0] = groupsOf(canonical)
    .slice(-2)
    .map((group) => Number.parseInt(group, 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** Expands a canonical IPv6 address into its eight groups. */
function groupsOf(address: string): readonly string[] {
  const [front = "", back] = address.split("::");
  const before = front === "" ? [] : front.split(":");
  if (back === undefined) return before;
  const after = back === "" ? [] : back.split(":");
  return [...before, ...Array<string>(GROUPS - before.length - after.length).fill("0"), ...after];
}

/** Removes the port that some proxies add: `127.0.0.1:4711`, `[::1]:4711`. */
function withoutPort(entry: string): string {
  if (entry.startsWith("[")) return entry.slice(1, Math.max(1, entry.indexOf("]")));
  const colon = entry.indexOf(":");
  return colon > 0 && colon === entry.lastIndexOf(":") ? entry.slice(0, colon) : entry;
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}
