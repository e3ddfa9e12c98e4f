import assert from "node:assert/strict";
import { test } from "node:test";
import { Mailbox } from "../../../core/kernel/actor.js";
import * as fc from "../../support/properties.js";

type Action =
  | { readonly type: "post"; readonly message: number }
  | { readonly type: "take" }
  | { readonly type: "clear" };

const anyAction: fc.Arbitrary<Action> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant("post" as const), message: fc.nat() }) },
  { weight: 4, arbitrary: fc.constant<Action>({ type: "take" }) },
  { weight: 1, arbitrary: fc.constant<Action>({ type: "clear" }) },
);

test("a mailbox is a queue that rejects messages when full", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 8 }),
      fc.array(anyAction, { maxLength: 80 }),
      (capacity, actions) => {
        const mailbox = new Mailbox<number>(capacity);
        let queue: number[] = [];
        for (const action of actions) {
          if (action.type === "post") {
            assert.equal(mailbox.post(action.message), queue.length < capacity);
            if (queue.length < capacity) queue.push(action.message);
          } else if (action.type === "take") {
            assert.equal(mailbox.take(), queue.shift());
          } else {
            mailbox.clear();
            queue = [];
          }
          assert.equal(mailbox.size, queue.length);
        }
      },
    ),
  );
});

test("thousands of waiting messages keep their order", () => {
  const mailbox = new Mailbox<number>(5_000);
  const taken: number[] = [];
  let next = 0;
  while (mailbox.post(next)) next++;
  // Take two and add one, so that the head advances far into the array before it is empty.
  for (let message = mailbox.take(); message !== undefined; message = mailbox.take()) {
    taken.push(message);
    if (taken.length % 2 === 0) mailbox.post(next++);
  }
  assert.deepEqual(
    taken,
    Array.from({ length: next }, (_, index) => index),
  );
});

test("a capacity that is not a positive whole number is rejected", () => {
  for (const capacity of [0, -1, 1.5, Number.NaN]) {
    assert.throws(() => new Mailbox(capacity), /capacity must be a positive integer, received/);
  }
});
