import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalAddress, countedAddress, TrustedProxies } from "../../src/http/client-address.js";

const PROXIES = new TrustedProxies(["127.0.9.0/24", "fd00:9::/32", "::ffff:10.0.0.0/104"]);

function clientOf(remoteAddress: string, forwarded?: string, proxies = PROXIES): string {
  const header = (name: string) => (name === "x-forwarded-for" ? forwarded : undefined);
  return proxies.clientOf({ remoteAddress, header });
}

for (const [peer, forwarded, client, why] of [
  ["127.0.0.7", "127.1.1.1", "127.0.0.7", "a peer that is no proxy says what it likes"],
  ["127.0.9.1", undefined, "127.0.9.1", "a proxy that says nothing speaks for itself"],
  ["127.0.9.1", "", "127.0.9.1", "an empty header"],
  ["127.0.9.1", "127.1.1.1", "127.1.1.1", "what the proxy says"],
  ["127.0.9.1", "127.6.6.6, 127.1.1.1", "127.1.1.1", "what stands before it is the client's own word"],
  ["127.0.9.1", "127.6.6.6,127.1.1.1,127.0.9.2", "127.1.1.1", "a chain of proxies"],
  ["127.0.9.1", "127.0.9.3,127.0.9.2", "127.0.9.3", "a client inside the network of proxies"],
  ["127.0.9.1", " 127.1.1.1:4711 ", "127.1.1.1", "a port"],
  ["127.0.9.1", "[fd00:1::A]:4711", "fd00:1::a", "IPv6 with a port"],
  ["127.0.9.1", "[fd00:1::A]", "fd00:1::a", "IPv6 in brackets"],
  ["127.0.9.1", "fd00:1:0:0::A", "fd00:1::a", "one spelling of an address"],
  ["127.0.9.1", "fd00:1::a%eth0", "fd00:1::a", "a zone"],
  ["127.0.9.1", "::ffff:127.1.1.1", "127.1.1.1", "IPv4 as IPv6"],
  ["::ffff:127.0.9.1", "127.1.1.1", "127.1.1.1", "a proxy on a socket of both kinds"],
  ["0000:0000:0000:0000:0000:ffff:7f00:0901", "127.1.1.1", "127.1.1.1", "as the native front writes it"],
  ["fd00:9::1", "127.1.1.1", "127.1.1.1", "a proxy by IPv6"],
  ["10.1.2.3", "127.1.1.1", "127.1.1.1", "a network of mapped addresses"],
  ["192.0.2.3", "127.1.1.1", "192.0.2.3", "beside that network"],
  ["127.0.9.1", "unknown", "127.0.9.1", "no address"],
  ["127.0.9.1", "127.6.6.6, _hidden", "127.0.9.1", "nothing behind what is no address is believed"],
  ["127.0.9.1", "127.6.6.6,", "127.0.9.1", "an empty entry"],
  ["127.0.9.1", "127.1.1.1.1", "127.0.9.1", "a number too many"],
  ["127.0.9.1", "127.0x1.1.1", "127.0.9.1", "no decimal number"],
  ["127.0.9.1", "[", "127.0.9.1", "half a bracket"],
  ["", "127.1.1.1", "", "a connection that is gone"],
] as const) {
  test(`${JSON.stringify(forwarded)} from ${peer || "nobody"} is ${client || "nobody"}: ${why}`, () => {
    assert.equal(clientOf(peer, forwarded), client);
  });
}

test("the header is ignored without trusted proxies", () => {
  assert.equal(clientOf("127.0.9.1", "127.1.1.1", new TrustedProxies([])), "127.0.9.1");
});

test("a header with many entries is read once, from its end", () => {
  assert.equal(clientOf("127.0.9.1", `${"127.0.9.2,".repeat(1_600)}127.0.9.3`), "127.0.9.2");
});

test("IPv6 clients are counted by network, IPv4 clients by address", () => {
  assert.equal(countedAddress("127.1.1.1"), "127.1.1.1");
  assert.equal(countedAddress("fd00:1:2:3:4:5:6:7"), "fd00:1:2:3::/64");
  assert.equal(countedAddress("fd00:1::7"), countedAddress("fd00:1:0:0:ffff::1"));
  assert.equal(countedAddress("::1"), "0:0:0:0::/64");
  assert.notEqual(countedAddress("fd00:1:0:1::7"), countedAddress("fd00:1::7"));
});

test("the spelling of an address is normalized", () => {
  assert.equal(canonicalAddress("FD00:0000::0001"), "fd00::1");
  assert.equal(canonicalAddress("::FFFF:7F00:1"), "127.0.0.1");
  assert.equal(canonicalAddress("localhost"), null);
});

test("a network that mixes mapped IPv4 with IPv6 is rejected by name", () => {
  assert.throws(
    () => new TrustedProxies(["::ffff:127.0.9.0/64"]),
    /Cannot trust proxies in ::ffff:127\.0\.9\.0\/64/,
  );
});
