import { BlockList, isIP } from "node:net";

/**
 * IPv4 networks that are not globally reachable, or not hosts.
 * @see IANA IPv4 Special-Purpose Address Registry
 */
const SPECIAL_IPV4 = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"],
  ...["192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"],
  ...["198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
];
/** The only part of IPv6 from which global addresses are given out. */
const GLOBAL_IPV6 = ["2000::/3"];
/**
 * What is special inside it; protocols that carry an IPv4 address inside (6to4, Teredo) are, whatever they carry.
 * @see IANA IPv6 Special-Purpose Address Registry
 */
const SPECIAL_IPV6 = ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"];

/** Which addresses the service may connect to for a client. */
export class AddressPolicy {
  readonly #opened: BlockList;

  /** @param opened networks in CIDR notation that may be reached although they are not globally routable */
  constructor(opened: readonly string[]) {
    this.#opened = listOf(opened);
  }

  allows(address: string): boolean {
    const version = isIP(address);
    if (version === 0) return false;
    if (this.#opened.check(address, version === 4 ? "ipv4" : "ipv6")) return true;
    lists ??= { special: listOf([...SPECIAL_IPV4, ...SPECIAL_IPV6]), global: listOf(GLOBAL_IPV6) };
    if (version === 4) return !lists.special.check(address, "ipv4");
    return lists.global.check(address, "ipv6") && !lists.special.check(address, "ipv6");
  }
}

/** Made for the first address: most services never look at one. */
let lists: { readonly special: BlockList; readonly global: BlockList } | null = null;

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits = ""] = network.split("/");
    list.addSubnet(address, Number(bits), isIP(address) === 4 ? "ipv4" : "ipv6");
  }
  return list;
}
