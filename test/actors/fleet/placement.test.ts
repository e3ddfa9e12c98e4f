import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeHeartbeat, encodeHeartbeat, type Heartbeat } from "../../../actors/fleet/heartbeats.js";
import { commonVersion, isBetterElsewhere, placeLane } from "../../../actors/fleet/placement.js";
import * as fc from "../../support/properties.js";
import { SEED, uniform } from "../../support/seed.js";

const WANTED = { cell: "c", zone: "a", model: "m", manifest: "h", protocol: { least: 1, most: 1 } };
const FIT: Heartbeat = {
  ...{ node: "n", cell: "c", zone: "a", model: "m", manifest: "h", protocol: { least: 1, most: 1 } },
  ...{ capacity: 10, used: 0, isDraining: false },
};
const none = () => 0;

const anyHeartbeat = (node: number): fc.Arbitrary<Heartbeat> =>
  fc.record(
    {
      node: fc.constant(`n${node}`),
      cell: fc.constantFrom("c", "c", "c", "other"),
      zone: fc.constantFrom("a", "b"),
      model: fc.constantFrom("m", "m", "m", "other"),
      manifest: fc.constantFrom("h", "h", "h", "other"),
      protocol: fc.constantFrom({ least: 1, most: 1 }, { least: 1, most: 2 }, { least: 2, most: 2 }),
      capacity: fc.integer({ min: 0, max: 5 }),
      used: fc.integer({ min: 0, max: 5 }),
      isDraining: fc.boolean(),
    },
    { noNullPrototype: true },
  );
const anyRoom = fc.integer({ min: 1, max: 3 });
const anyFleet = fc
  .nat({ max: 6 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, node) => anyHeartbeat(node))));

test("a lane goes to a node with room, in its zone if possible, with the fewest lanes of its front", () => {
  fc.assert(
    fc.property(
      anyFleet,
      fc.array(fc.nat({ max: 2 })),
      fc.nat(),
      anyRoom,
      (heartbeats, counts, seed, room) => {
        const lanesOn = (node: string) => counts[Number(node.slice(1))] ?? 0;
        const able = heartbeats.filter(
          ({ cell, model, manifest, protocol, capacity, used, isDraining }) =>
            ["c", "m", "h", 1, true, false].join() ===
            [cell, model, manifest, protocol.least, used + room <= capacity, isDraining].join(),
        );
        const chosen = placeLane(heartbeats, { ...WANTED, room }, lanesOn, uniform(seed));
        assert.equal(chosen === null, able.length === 0);
        if (chosen === null) return;
        assert.ok(able.includes(chosen));
        const near = able.filter(({ zone }) => zone === "a");
        if (near.length > 0) assert.equal(chosen.zone, "a");
        const rivals = near.length > 0 ? near : able;
        assert.ok(rivals.every(({ node }) => lanesOn(node) >= lanesOn(chosen.node)));
      },
    ),
  );
});

test("chooses the less loaded of two random nodes", () => {
  const heartbeats = Array.from({ length: 8 }, (_, index) => ({ ...FIT, node: `n${index}`, used: index }));
  const random = uniform(SEED);
  assert.equal(placeLane(heartbeats.slice(0, 2), WANTED, none, random)?.node, "n0");
  const chosen = new Map<string, number>();
  for (let time = 0; time < 1_000; time++) {
    const node = placeLane(heartbeats, WANTED, none, random)!.node;
    chosen.set(node, (chosen.get(node) ?? 0) + 1);
  }
  // The fullest node loses to every other one. No node gets more than a quarter, which is the share that two
  // choices out of eight give.
  assert.equal(chosen.get("n7"), undefined);
  for (let index = 0; index < 7; index++) {
    const times = chosen.get(`n${index}`) ?? 0;
    assert.ok(times > 10 && times < 320, `n${index} ${times}`);
  }
});

test("a lane moves only to a closer zone or to balance its front's lanes, never back", () => {
  let moves = 0;
  fc.assert(
    fc.property(
      anyFleet,
      fc.array(fc.nat({ max: 4 })),
      fc.nat(),
      fc.nat(),
      (heartbeats, counts, at, seed) => {
        const own = heartbeats[at % Math.max(1, heartbeats.length)];
        const of = new Map(heartbeats.map(({ node }, index) => [node, counts[index] ?? 0]));
        const lanesOn = (node: string) => of.get(node) ?? 0;
        if (own === undefined || lanesOn(own.node) === 0) return;
        if (!isBetterElsewhere(heartbeats, WANTED, lanesOn, own)) return;
        moves++;
        const chosen = placeLane(heartbeats, { ...WANTED, except: own.node }, lanesOn, uniform(seed))!;
        assert.notEqual(chosen.node, own.node);
        const isNearer = own.zone !== WANTED.zone && chosen.zone === WANTED.zone;
        assert.ok(isNearer || lanesOn(chosen.node) + 2 <= lanesOn(own.node));
        of.set(own.node, lanesOn(own.node) - 1).set(chosen.node, lanesOn(chosen.node) + 1);
        assert.ok(!isBetterElsewhere([own, chosen], WANTED, lanesOn, chosen));
      },
    ),
  );
  assert.ok(moves > 0);
});

test("uses the latest version that both ranges contain", () => {
  const range = fc
    .tuple(fc.nat({ max: 5 }), fc.nat({ max: 3 }))
    .map(([least, more]) => ({ least, most: least + more }));
  fc.assert(
    fc.property(range, range, (one, other) => {
      const both = [8, 7, 6, 5, 4, 3, 2, 1, 0].filter((version) =>
        [one, other].every(({ least, most }) => version >= least && version <= most),
      );
      assert.equal(commonVersion(one, other), both[0] ?? null);
    }),
  );
});

test("rejects bytes that are not a heartbeat", () => {
  fc.assert(
    fc.property(anyHeartbeat(1), (heartbeat) =>
      assert.deepEqual(decodeHeartbeat(encodeHeartbeat(heartbeat)), heartbeat),
    ),
  );
  for (const wrong of [encodeHeartbeat({} as Heartbeat), encodeHeartbeat(null as unknown as Heartbeat)])
    assert.throws(() => decodeHeartbeat(wrong), TypeError);
});
