import assert from "node:assert/strict";
import { test } from "node:test";
import { StatePlace, StatePool, StateSlabs, slabOf } from "../../../native/live/encoder-memory.js";
import { copyState, type EncoderState, StateRows } from "../../../native/models/state-rows.js";
import * as fc from "../../support/properties.js";

const ROWS = 6;
const SIZE = { stateSize: 2, stateBytes: 1 };

interface Session {
  readonly place: StatePlace;
  /** The expected state of the session. */
  readonly heard: { frames: number };
  readonly name: number;
}

/**
 * Runs a batch like a recogniser: the next state is the last one plus a frame, different for each session.
 */
function run(from: StateRows, to: StateRows, count: number): void {
  for (let row = 0; row < count; row++) {
    const [before, after] = [from.rows[row]!, to.rows[row]!];
    after.values.set([before.values[0]! + 1, before.values[1]!]);
    after.bytes.set([before.bytes[0]! + 1]);
  }
}

function contentOf({ values, bytes }: EncoderState): number[] {
  return [...values, ...bytes];
}

test("every session keeps its own state, in any order and grouping of steps", () => {
  const batch = fc.record({
    /** Indexes into the open sessions. `isAgain` repeats the last batch's sessions instead. */
    picks: fc.array(fc.nat(20), { minLength: 1, maxLength: ROWS }),
    isAgain: fc.boolean(),
    closes: fc.array(fc.nat(20), { maxLength: 2 }),
    opens: fc.nat(3),
  });
  let inPlace = 0;
  fc.assert(
    fc.property(fc.array(batch, { minLength: 1, maxLength: 40 }), (batches) => {
      const pool = new StatePool(SIZE);
      const slabs = new StateSlabs(SIZE, ROWS);
      const staging = new StateRows(SIZE, ROWS);
      let open: Session[] = [];
      let last: Session[] = [];
      let named = 0;
      for (const { picks, isAgain, closes, opens } of batches) {
        for (let nth = 0; nth <= opens; nth++) {
          const ownState = pool.acquire();
          ownState.values[1] = named;
          open.push({ place: new StatePlace(ownState), heard: { frames: 0 }, name: named++ });
        }
        const stillOpen = last.filter((session) => open.includes(session));
        const picked = [...new Set(picks.map((pick) => open[pick % open.length]!))];
        const chosen = isAgain && stillOpen.length > 0 ? stillOpen : picked;
        const next = slabs.take();
        assert.equal(next.count, 0);
        const from = slabOf({ at: (row) => chosen[row]! }, 0, chosen.length);
        if (from !== null) inPlace++;
        else for (const [row, { place }] of chosen.entries()) copyState(place.state, staging.rows[row]!);
        run(from?.states ?? staging, next.states, chosen.length);
        for (const [row, session] of chosen.entries()) {
          session.place.moveTo(next, row);
          session.heard.frames++;
        }
        last = chosen;
        for (const close of closes) {
          const session = open.length > 1 ? open[close % open.length]! : null;
          if (session === null) continue;
          session.place.leave();
          pool.release(session.place.own);
          open = open.filter((other) => other !== session);
        }
        for (const { name, heard, place } of open) {
          assert.deepEqual(contentOf(place.state), [heard.frames, name, heard.frames % 256]);
        }
      }
    }),
  );
  assert.ok(inPlace > 100, `${inPlace} batches ran from where the last one had left its states`);
});

test("a state moves to its session's own memory when its slab is reused", () => {
  const slabs = new StateSlabs(SIZE, ROWS);
  const pool = new StatePool(SIZE);
  const idle = Array.from({ length: 30 }, () => new StatePlace(pool.acquire()));
  for (const [nth, place] of idle.entries()) {
    const slab = slabs.take();
    slab.states.rows[0]!.values.fill(nth);
    place.moveTo(slab, 0);
  }
  assert.deepEqual(
    idle.map(({ state }) => state.values[0]),
    idle.map((_, nth) => nth),
  );
  assert.ok(idle.filter(({ slab }) => slab !== null).length < 10, "slabs are few");
});
