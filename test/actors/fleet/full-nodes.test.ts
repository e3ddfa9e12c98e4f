// A lane can also continue on other nodes with room, so a gateway reaches more workers than it has lanes.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { LiveHost, LiveHostOptions } from "../../../actors/node/live-host.js";
import type { LiveWorkerAnswer, ToLiveWorker } from "../../../native/threads/protocol.js";
import { eventually } from "../../support/eventually.js";
import { FakeChild } from "../../support/fake-child.js";
import { liveHost, remoteLiveEngine } from "../../support/fleet.js";
import { InProcessHub } from "../../support/in-process-bus.js";
import { LiveListener } from "../../support/live-listener.js";

const SAID = new Int16Array(640);
const ROOM_FOR_ONE = { workerCount: 1, sessionsPerWorker: 1 };

/** Reports a session's node as soon as the session is opened there. `finalize` counts as a pause. */
function tellingWorker(node: string): LiveHostOptions["startWorker"] {
  return async (_, onMessage) => {
    const epochs = new Map<number, number>();
    // A real thread answers in a later turn of the event loop.
    const say = (answer: LiveWorkerAnswer) =>
      setImmediate(() => onMessage({ type: "answers", answers: [answer] }));
    const post = (message: ToLiveWorker) => {
      if (message.type === "stop" || message.type === "ring" || message.type === "close") return;
      const { session } = message;
      if (message.type === "open") epochs.set(session, message.epoch);
      const of = { session, epoch: epochs.get(session)! };
      if (message.type === "open") {
        say({ type: "partial", ...of, utterance: 0, text: node, startSample: 0, endSample: 1 });
      } else if (message.type === "finalize") {
        say({ type: "idle", ...of, resume: { sample: message.atSample, isMidSpeech: false } });
      } else say({ type: "finished", ...of });
    };
    return Object.assign(new FakeChild(), { post });
  };
}

/** A gateway with this many lanes, and its nodes. */
async function fleet(t: TestContext, lanes: number) {
  const faults: unknown[] = [];
  const hub = new InProcessHub((error) => void faults.push(error));
  const hosts = new Map<string, LiveHost>();
  const { engine, directory, moves, endings, stop } = await remoteLiveEngine(hub.connect(), {
    workerCount: lanes,
  });
  t.after(async () => {
    await stop();
    for (const host of hosts.values()) await host.stop();
    assert.deepEqual(faults, []);
  });
  return {
    ...{ engine, moves, endings },
    /** Starts nodes with room for one session per worker. */
    startNodes: async (names: readonly string[], changes: Partial<LiveHostOptions> = {}) => {
      for (const name of names) {
        const of = { ...ROOM_FOR_ONE, node: name, startWorker: tellingWorker(name), ...changes };
        const host = await liveHost(hub.connect(), of);
        hosts.set(name, host);
        await host.start();
      }
      await eventually("the gateway knows them", () => {
        const known = new Set(directory.heartbeats.map(({ node }) => node));
        return names.every((name) => known.has(name));
      });
      return names.map((name) => hosts.get(name)!);
    },
    speak: () => {
      const listener = new LiveListener(engine);
      listener.feed.write(SAID);
      return listener;
    },
  };
}

/** Lists the nodes that a session has used, in order. */
function nodesOf({ events }: LiveListener): readonly string[] {
  return events.flatMap((event) => (event.type === "partial" ? [event.text] : []));
}

async function heardOn(listener: LiveListener, isWanted: (node: string) => boolean = () => true) {
  await listener.seen((event) => event.type === "partial" && isWanted(event.text));
  return listener;
}

const named = (count: number, first = 0) => Array.from({ length: count }, (_, nth) => `n${first + nth}`);

test("a gateway with all 24 lanes on full nodes moves its sessions to 16 other nodes", async (t) => {
  const { engine, startNodes, speak, moves, endings } = await fleet(t, 24);
  const nodes = [...(await startNodes(named(24)))];
  await engine.start();
  const sessions = await Promise.all(named(24).map(() => heardOn(speak())));
  nodes.push(...(await startNodes(named(16, 24))));
  sessions.push(...(await Promise.all(named(16).map(() => heardOn(speak())))));
  await eventually("each node hears one", () => nodes.every(({ sessionCount }) => sessionCount === 1));
  const waiting = speak();
  const left = sessions.splice(7, 1)[0]!;
  await left.finish();
  await heardOn(waiting);
  for (const session of [...sessions, waiting]) assert.equal((await session.finish()).type, "finished");
  assert.deepEqual(endings, []);
  assert.ok(moves.includes("full"));
});

test("a lane whose worker is full also uses another worker of the same node", async (t) => {
  const { engine, startNodes, speak, endings } = await fleet(t, 1);
  const [node] = await startNodes(["n"], { workerCount: 3 });
  await engine.start();
  const sessions = await Promise.all([speak(), speak(), speak()].map((session) => heardOn(session)));
  assert.equal(node!.sessionCount, 3);
  assert.deepEqual(sessions.map(nodesOf), [["n"], ["n"], ["n"]]);
  for (const session of sessions) await session.finish();
  await eventually("the places that were added are given up", () => node!.laneCount === 1);
  assert.deepEqual(endings, []);
});

test("a lane on two nodes survives a lost node and leaves a draining one", async (t) => {
  const { engine, startNodes, speak, endings } = await fleet(t, 1);
  const [first] = await startNodes(["first"]);
  await engine.start();
  const one = await heardOn(speak());
  const [second] = await startNodes(["second"]);
  const other = await heardOn(speak());
  assert.deepEqual([nodesOf(one), nodesOf(other)], [["first"], ["second"]]);
  await second!.stop();
  await eventually("the loss is noticed", () => endings.length > 0);
  await startNodes(["third"], { sessionsPerWorker: 2 });
  await heardOn(other, (node) => node === "third");
  assert.deepEqual(nodesOf(one), ["first"], "its node is as it was");
  const drained = first!.drain(60_000);
  await eventually("its session has left at a pause", () => {
    one.feed.finalize();
    return first!.sessionCount === 0;
  });
  await drained;
  await heardOn(one, (node) => node === "third");
  assert.deepEqual(
    [nodesOf(one), nodesOf(other)],
    [
      ["first", "third"],
      ["second", "third"],
    ],
  );
  for (const session of [one, other]) assert.equal((await session.finish()).type, "finished");
  // The lane may be offered to the lost node again if its last heartbeat is recent enough.
  assert.deepEqual([endings[0], ...endings.slice(1).filter((ending) => ending !== "gone")], ["unknown"]);
});
