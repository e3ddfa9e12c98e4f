import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Bus, BusMessage } from "../../core/ports/bus.js";
import { eventually } from "../support/eventually.js";

/** A bus under test. */
export interface BusUnderTest {
  connect(): Promise<Bus>;
  /** Drops every connection, including all messages in flight. */
  interrupt(): Promise<void>;
  resume(): Promise<void>;
  /** Errors that subscribers have thrown. */
  readonly faults: readonly unknown[];
  stop(): Promise<void>;
}

const bytesOf = (...values: number[]) => Uint8Array.from(values);

/** Tests the contract that every bus must meet. @param skip why it cannot run here, or false */
export function busContract(name: string, skip: string | false, makeBus: () => Promise<BusUnderTest>): void {
  describe(`the bus ${name}`, { skip }, () => {
    let tested: BusUnderTest;
    let sender: Bus;
    let receiver: Bus;
    before(async () => {
      tested = await makeBus();
      [sender, receiver] = [await tested.connect(), await tested.connect()];
    });
    after(async () => {
      await Promise.all([sender.drain(), receiver.drain()]);
      await tested.stop();
    });

    /** Stores copies of a subject's messages, because their bytes are borrowed. */
    async function listen(bus: Bus, subject: string) {
      const heard: { subject: string; bytes: number[]; isUndelivered: boolean }[] = [];
      const end = bus.subscribe(subject, ({ bytes, ...rest }: BusMessage) => {
        heard.push({ ...rest, bytes: [...bytes] });
      });
      await bus.flush();
      return { heard, end };
    }

    test("messages of one publisher arrive in order and unchanged", async () => {
      const { heard, end } = await listen(receiver, "t.order");
      for (let index = 0; index < 500; index++) sender.publish("t.order", bytesOf(index & 255, index >> 8));
      await eventually("all have come", () => heard.length === 500);
      assert.deepEqual(
        heard.map(({ bytes }) => bytes[0]! + 256 * bytes[1]!),
        Array.from({ length: 500 }, (_, index) => index),
      );
      end();
    });

    test("a subscription receives the subjects of its pattern, and no other", async () => {
      const word = await listen(receiver, "t.*.b");
      const rest = await listen(receiver, "t.a.>");
      for (const subject of ["t.a.b", "t.a.c", "t.a", "t.a.b.c", "t.x.b", "u.a.b", "t.done.b", "t.a.done"])
        sender.publish(subject, bytesOf(1));
      await eventually("the last ones have come", () =>
        [word, rest].every(({ heard }) => heard.some(({ subject }) => subject.includes("done"))),
      );
      const subjects = ({ heard }: typeof word) => heard.map(({ subject }) => subject);
      assert.deepEqual(subjects(word), ["t.a.b", "t.x.b", "t.done.b"]);
      assert.deepEqual(subjects(rest), ["t.a.b", "t.a.c", "t.a.b.c", "t.a.done"]);
      word.end();
      rest.end();
    });

    test("every subscriber receives a message, including the publisher", async () => {
      const all = [
        await listen(receiver, "t.all"),
        await listen(receiver, "t.all"),
        await listen(sender, "t.all"),
      ];
      sender.publish("t.all", bytesOf(7));
      await eventually("all have heard it", () => all.every(({ heard }) => heard.length === 1));
      for (const { end } of all) end();
    });

    test("a publisher with a reply subject is notified when there is no subscriber, and only then", async () => {
      const lost = await listen(sender, "t.lost");
      const { heard, end } = await listen(receiver, "t.heard");
      sender.publish("t.heard", bytesOf(1), "t.lost");
      sender.publish("t.unheard", bytesOf(2), "t.lost");
      await eventually("the word has come", () => lost.heard.length > 0 && heard.length > 0);
      assert.deepEqual(lost.heard, [{ subject: "t.lost", bytes: [], isUndelivered: true }]);
      end();
      await receiver.flush();
      sender.publish("t.heard", bytesOf(3), "t.lost");
      await eventually("the next word has come", () => lost.heard.length === 2);
      assert.equal(heard.length, 1);
      assert.equal(heard[0]!.isUndelivered, false);
      lost.end();
    });

    test("an exception in a subscriber is reported and goes no further", async () => {
      const before = tested.faults.length;
      const end = receiver.subscribe("t.throws", () => {
        throw new RangeError("of a test");
      });
      const { heard, end: endOther } = await listen(receiver, "t.throws");
      sender.publish("t.throws", bytesOf(1));
      sender.publish("t.throws", bytesOf(2));
      await eventually("both have come", () => heard.length === 2 && tested.faults.length === before + 2);
      assert.ok(tested.faults.at(-1) instanceof RangeError);
      end();
      endOther();
    });

    test("an ended subscription receives nothing more", async () => {
      const { heard, end } = await listen(receiver, "t.ended");
      const other = await listen(receiver, "t.ended");
      end();
      await receiver.flush();
      sender.publish("t.ended", bytesOf(1));
      await eventually("the other hears it", () => other.heard.length === 1);
      assert.equal(heard.length, 0);
      other.end();
    });

    test("large messages arrive whole", async () => {
      const { heard, end } = await listen(receiver, "t.large");
      const bytes = Uint8Array.from({ length: 65_536 }, (_, index) => (index * 31) & 255);
      sender.publish("t.large", bytes.slice());
      await eventually("it has come", () => heard.length === 1);
      assert.deepEqual(heard[0]!.bytes, [...bytes]);
      end();
    });

    test("after an interruption both sides are notified, and subscriptions resume", async () => {
      const { heard, end } = await listen(receiver, "t.again");
      const told: string[] = [];
      const ends = [
        sender.onReconnect(() => void told.push("sender")),
        receiver.onReconnect(() => void told.push("receiver")),
      ];
      await tested.interrupt();
      sender.publish("t.again", bytesOf(1));
      await tested.resume();
      await eventually("both receive it", () => told.length === 2);
      assert.deepEqual(told.toSorted(), ["receiver", "sender"]);
      // Messages published in between may be lost, but not those published now.
      await eventually("it is heard again", async () => {
        sender.publish("t.again", bytesOf(2));
        await sender.flush();
        return heard.some(({ bytes }) => bytes[0] === 2);
      });
      for (const each of [...ends, end]) each();
    });

    test("a drained connection has sent everything, receives nothing more, and ignores late messages", async () => {
      const { heard, end } = await listen(receiver, "t.drained");
      const leaving = await tested.connect();
      const own = await listen(leaving, "t.own");
      leaving.publish("t.drained", bytesOf(1));
      await leaving.drain();
      await leaving.drain();
      await eventually("it was sent", () => heard.length === 1);
      leaving.publish("t.drained", bytesOf(2));
      sender.publish("t.own", bytesOf(3));
      await sender.flush();
      await receiver.flush();
      assert.deepEqual([heard.length, own.heard.length], [1, 0]);
      end();
    });
  });
}
