import assert from "node:assert/strict";
import { basename, join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import type { LiveEngine, LiveEngineOptions } from "../../../actors/live/engine.js";
import type { LiveHost, LiveHostOptions } from "../../../actors/node/live-host.js";
import { startLiveWorker } from "../../../native/start-workers.js";
import { cut, joined, silence, speech } from "../../support/audio.js";
import { liveEngine, RECOGNIZER } from "../../support/engines.js";
import { eventually } from "../../support/eventually.js";
import { liveHost, remoteLiveEngine } from "../../support/fleet.js";
import { RECOGNIZER_FOLDER } from "../../support/folders.js";
import { InProcessHub } from "../../support/in-process-bus.js";
import { lightModels } from "../../support/light-models.js";
import { type Final, finalsOf, LiveListener } from "../../support/live-listener.js";
import { type Fate, LossyBus } from "../../support/lossy-bus.js";

const KAZAKH = speech("kazakh-speech-commands/example_1.flac");
const DIALOGUE = joined(silence(0.3), KAZAKH, silence(0.8), speech("asterisk-ru-core/conf-getconfno.flac"));
const TO_NODE = /\.engine\./;
const TO_FRONT = /\.front\./;

const SEND: Fate = () => "send";

const faults: unknown[] = [];
const hub = new InProcessHub((error) => void faults.push(error));
/** Connection of the first node. */
const nodeBus = new LossyBus(hub.connect(), TO_FRONT, (nth) => fateOfReport(nth));
let fateOfReport = SEND;
let worker: Partial<LiveHostOptions>;
/** The node that accepts lanes. Earlier nodes have ended. */
let host: LiveHost;
let expected: Final[];

before(async () => {
  const { MODELS_DIR } = await lightModels();
  const settings = { ...RECOGNIZER, modelFolder: join(MODELS_DIR, basename(RECOGNIZER_FOLDER)) };
  const startWorker: LiveHostOptions["startWorker"] = (cells, hear) => startLiveWorker(settings, cells, hear);
  worker = { startWorker };
  const threads = await liveEngine({ startWorker });
  await threads.start();
  expected = await finalsOf(threads, [DIALOGUE]);
  assert.ok(expected.length >= 2);
  await threads.stop();
  host = await liveHost(nodeBus, worker);
  await host.start();
});
after(async () => {
  await host.stop();
  assert.deepEqual(faults, []);
});

/** A gateway with a separate connection, whose bundles may be lost. */
async function gateway(t: TestContext, fate = SEND, changes: Partial<LiveEngineOptions> = {}) {
  const bus = new LossyBus(hub.connect(), TO_NODE, fate);
  const remote = await remoteLiveEngine(bus, changes);
  t.after(async () => {
    await remote.stop();
    await eventually("the node holds nothing any more", () => host.sessionCount + host.laneCount === 0);
    assert.equal(remote.inFlightBytes(), 0);
  });
  await remote.engine.start();
  return { ...remote, bus };
}

const dropping =
  (nth: number): Fate =>
  (count) =>
    count === nth ? "drop" : "send";

async function speak(engine: LiveEngine, during: () => Promise<void> = async () => {}) {
  const listener = new LiveListener(engine);
  const pieces = cut(DIALOGUE, [1_600]);
  await listener.writeAll(pieces.slice(0, 30));
  await listener.seen((event) => event.type === "partial");
  await during();
  await listener.writeAll(pieces.slice(30));
  assert.equal((await listener.finish()).type, "finished");
  return listener.finals;
}

for (const nth of [1, 3]) {
  test(`a lost bundle, number ${nth} of a gateway, costs a replay but no word`, async (t) => {
    const { engine, endings } = await gateway(t, dropping(nth));
    assert.deepEqual(await speak(engine), expected);
    assert.deepEqual(endings, ["gap"]);
  });

  test(`a lost report, number ${nth} of a lane, costs a replay but no word`, async (t) => {
    fateOfReport = dropping(nodeBus.count + nth);
    const { engine, endings } = await gateway(t);
    assert.deepEqual(await speak(engine), expected);
    assert.deepEqual(endings, ["gap"]);
    fateOfReport = SEND;
  });
}

test("late bundles count as lost, and are ignored when they arrive", async (t) => {
  const { engine, endings, bus } = await gateway(t, (nth) => (nth === 2 ? "hold" : "send"));
  const finals = await speak(engine, async () => {
    await eventually("the gap is noticed", () => endings.length === 1);
    bus.releaseHeld();
  });
  assert.deepEqual(finals, expected);
  assert.deepEqual(endings, ["gap"]);
});

test("a bus outage costs a replay but no word", async (t) => {
  const { engine, endings } = await gateway(t);
  const finals = await speak(engine, async () => {
    hub.interrupt();
    hub.resume();
    await eventually("the lane is lost", () => endings.length === 1);
  });
  assert.deepEqual(finals, expected);
  assert.deepEqual(endings, ["reconnect"]);
});

test("the window limits how much audio is sent before the node acknowledges it", async (t) => {
  const { engine, inFlightBytes } = await gateway(t);
  fateOfReport = () => "hold";
  const listener = new LiveListener(engine);
  const seconds = 40;
  // This is 1.3 MB. The window holds 1 MB, not counting record headers.
  listener.feed.write(silence(seconds));
  await eventually("the window is full", () => inFlightBytes() > 1_000_000);
  assert.ok(inFlightBytes() < 1_100_000, `${inFlightBytes()}`);
  fateOfReport = SEND;
  nodeBus.releaseHeld();
  await listener.writeAll([DIALOGUE]);
  await listener.finish();
  assert.deepEqual(
    listener.finals.map(({ text }) => text),
    expected.map(({ text }) => text),
  );
});

test("a draining node ends when its sessions have moved to another", async (t) => {
  const { engine, endings, moves } = await gateway(t);
  const leaving = host;
  let drained: Promise<void> | undefined;
  const finals = await speak(engine, async () => {
    host = await liveHost(hub.connect(), worker);
    await host.start();
    drained = leaving.drain(60_000);
  });
  await drained;
  assert.deepEqual([leaving.sessionCount, leaving.isReady], [0, false]);
  assert.deepEqual(finals, expected);
  assert.deepEqual([endings, moves], [[], ["draining"]]);
  await leaving.stop();
});

test("a node that ends before its sessions have paused costs a replay but no word", async (t) => {
  const { engine, endings, moves } = await gateway(t);
  const leaving = host;
  const finals = await speak(engine, async () => {
    host = await liveHost(hub.connect(), worker);
    await host.start();
    // No more audio follows, so the session stays in the middle of an utterance.
    await leaving.drain(0);
    await eventually("the lane has a place on the other", () => moves.length === 1);
    assert.equal(leaving.sessionCount, 1);
    await leaving.stop();
  });
  assert.deepEqual(finals, expected);
  assert.deepEqual([endings, moves], [["unknown"], ["draining"]]);
});

test("a node that starts later takes lanes of a running one without losing a word", async (t) => {
  const { engine, endings, moves } = await gateway(t, SEND, { workerCount: 2 });
  const [one, other] = [new LiveListener(engine), new LiveListener(engine)];
  const pieces = cut(DIALOGUE, [1_600]);
  for (const listener of [one, other]) {
    await listener.writeAll(pieces.slice(0, 30));
    await listener.seen((event) => event.type === "partial");
  }
  assert.deepEqual([host.laneCount, host.sessionCount], [2, 2]);
  const later = await liveHost(hub.connect(), worker);
  await later.start();
  for (const listener of [one, other]) {
    await listener.writeAll(pieces.slice(30));
    assert.equal((await listener.finish()).type, "finished");
    assert.deepEqual(listener.finals, expected);
  }
  await eventually("each has a lane", () => host.laneCount === 1 && later.laneCount === 1);
  assert.deepEqual([endings, moves], [[], ["balance"]]);
  await later.stop();
  await eventually("the lane is back", () => host.laneCount === 2);
});

test("a node that disconnects costs a replay on the next one, and loses no word", async (t) => {
  const { engine, endings } = await gateway(t);
  const leaving = host;
  const finals = await speak(engine, async () => {
    // This node has room for one session.
    host = await liveHost(hub.connect(), { ...worker, sessionsPerWorker: 1 });
    await host.start();
    await leaving.stop();
  });
  assert.deepEqual(finals, expected);
  // The lane may be offered to the lost node again if its last heartbeat is recent enough.
  assert.deepEqual(
    [endings[0], ...new Set(endings.slice(1))],
    ["unknown", ...(endings.length > 1 ? ["gone"] : [])],
  );
});

test("a session and its audio wait until a full node has room", async (t) => {
  const { engine, endings } = await gateway(t);
  const first = new LiveListener(engine);
  await first.writeAll([KAZAKH]);
  await first.seen((event) => event.type === "partial");
  const second = new LiveListener(engine);
  await second.writeAll([DIALOGUE]);
  second.feed.finish();
  assert.equal(host.sessionCount, 1);
  await first.finish();
  assert.equal((await second.finish()).type, "finished");
  assert.deepEqual(second.finals, expected);
  assert.deepEqual(endings, []);
});

test("a session moves to another node if its own has no room", async (t) => {
  const { engine, endings, moves } = await gateway(t);
  const first = new LiveListener(engine);
  const pieces = cut(DIALOGUE, [1_600]);
  await first.writeAll(pieces.slice(0, 30));
  await first.seen((event) => event.type === "partial");
  const second = new LiveListener(engine);
  await second.writeAll([DIALOGUE]);
  const other = await liveHost(hub.connect(), worker);
  await other.start();
  assert.equal((await second.finish()).type, "finished");
  await first.writeAll(pieces.slice(30));
  assert.equal((await first.finish()).type, "finished");
  assert.deepEqual([first.finals, second.finals], [expected, expected]);
  assert.deepEqual([endings, moves], [[], ["full"]]);
  await other.stop();
});
