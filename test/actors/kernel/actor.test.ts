import assert from "node:assert/strict";
import { test } from "node:test";
import { Actor, type ActorOptions } from "../../../core/kernel/actor.js";

type Options = ActorOptions<readonly number[], number, number>;

/** An actor whose state is the list of messages it has handled. Each message is also its only effect. */
function recorder(changes: Partial<Options> = {}): {
  readonly actor: Actor<readonly number[], number, number>;
  readonly crashes: unknown[];
} {
  const crashes: unknown[] = [];
  const actor = new Actor<readonly number[], number, number>({
    initial: [],
    decide: (state, message) => ({ state: [...state, message], effects: [message] }),
    perform: () => undefined,
    onCrash: (error) => crashes.push(error),
    ...changes,
  });
  return { actor, crashes };
}

test("a message is handled before tell returns", () => {
  const { actor } = recorder();
  assert.equal(actor.tell(7), true);
  assert.deepEqual(actor.state, [7]);
});

test("messages sent while one is being handled wait until it is done", () => {
  const order: string[] = [];
  const { actor } = recorder({
    decide: (state, message) => {
      order.push(`decide ${message}`);
      return { state: [...state, message], effects: message === 1 ? [10, 11] : [] };
    },
    perform: (effect) => {
      order.push(`perform ${effect}`);
      assert.equal(actor.tell(effect - 8), true);
      assert.deepEqual(actor.state, [1], "a message sent by an effect is not handled inside it");
    },
  });
  actor.tell(1);
  assert.deepEqual(order, ["decide 1", "perform 10", "perform 11", "decide 2", "decide 3"]);
  assert.deepEqual(actor.state, [1, 2, 3]);
});

test("a full mailbox rejects messages and handles the accepted ones in order", () => {
  const answers: boolean[] = [];
  const { actor } = recorder({
    mailboxCapacity: 2,
    perform: (effect) => {
      if (effect === 0) for (const message of [1, 2, 3]) answers.push(actor.tell(message));
    },
  });
  assert.equal(actor.tell(0), true);
  assert.deepEqual(answers, [true, true, false]);
  assert.deepEqual(actor.state, [0, 1, 2]);
});

for (const place of ["decide", "perform"] as const) {
  test(`a throw in ${place} stops the actor and is reported once`, () => {
    const mistake = new Error("ours");
    const fail = (): never => {
      throw mistake;
    };
    const { actor, crashes } = recorder({
      ...(place === "decide" ? { decide: fail } : {}),
      perform: () => {
        actor.tell(2);
        fail();
      },
    });
    actor.tell(1);
    assert.deepEqual(crashes, [mistake]);
    assert.equal(actor.isStopped, true);
    assert.equal(actor.tell(3), false);
    assert.ok(!actor.state.includes(2), "what waited is dropped");
    assert.deepEqual(crashes, [mistake]);
  });
}

test("after a throw, the actor keeps the state of the last decision", () => {
  const { actor } = recorder({
    perform: (effect) => {
      if (effect === 2) throw new Error("ours");
    },
  });
  actor.tell(1);
  actor.tell(2);
  assert.deepEqual(actor.state, [1, 2]);
});

test("a stopped actor drops waiting messages and accepts none", () => {
  const { actor, crashes } = recorder({
    perform: () => {
      actor.tell(2);
      actor.stop();
      actor.stop();
    },
  });
  actor.tell(1);
  assert.deepEqual(actor.state, [1]);
  assert.equal(actor.isStopped, true);
  assert.equal(actor.tell(3), false);
  assert.deepEqual(crashes, []);
});

test("an actor without messages keeps its initial state", () => {
  const { actor } = recorder({ initial: [42] });
  actor.stop();
  assert.deepEqual(actor.state, [42]);
});
