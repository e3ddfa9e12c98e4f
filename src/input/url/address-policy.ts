import { BlockList, isIP } from "node:net";

/**
 * IPv4 networks that are not globally reachable, or that contain no hosts.
 * @see IANA IPv4 Special-Purpose Address Registry
 */
const SPECIAL_IPV4 = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"],
  ...["192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"],
  ...["198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
];
/** The only part of IPv6 that contains global addresses. */
const GLOBAL_IPV6 = ["2000::/3"];
/**
 * Special networks within that part, including 6to4 and Teredo, which embed IPv4 addresses.
 * @see IANA IPv6 Special-Purpose Address Registry
 */
const SPECIAL_IPV6 = ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"];

/** Decides to which addresses the service may connect on behalf of a client. */
export class AddressPolicy {
  readonly #allowed: BlockList;

  /** @param allowed networks in CIDR notation that are allowed although they are not public */
  constructor(allowed: readonly string[]) {
    this.#allowed = listOf(allowed);
  }

  allows(address: string): boolean {
    const version = isIP(address);
    if (version === 0) return false;
    if (this.#allowed.check(address, version === 4 ? "ipv4" : "ipv6")) return true;
    lists ??= { special: listOf([...SPECIAL_IPV4, ...SPECIAL_IPV6]), global: listOf(GLOBAL_IPV6) };
    if (version === 4) return !lists.special.check(address, "ipv4");
    return lists.global.check(address, "ipv6") && !lists.special.check(address, "ipv6");
  }
}

/** Created with the first address, because most services never check one. */
let lists: { readonly special: BlockList; readonly global: BlockList } | null = null;

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits = ""] = network.split("/");
    list.addSubnet(address, Number(bits), isIP(address) === 4 ? "ipv4" : "ipv6");
  }
  return list;
}
