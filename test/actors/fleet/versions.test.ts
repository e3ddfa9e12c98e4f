// Engines are upgraded before gateways, one by one, so each side must work with two releases of the other.
import assert from "node:assert/strict";
import { basename, join } from "node:path";
import { after, before, test } from "node:test";
import type { Versions } from "../../../actors/fleet/heartbeats.js";
import { readBundle } from "../../../actors/fleet/lane-records.js";
import type { LiveHost } from "../../../actors/node/live-host.js";
import { startLiveWorker } from "../../../native/start-workers.js";
import { cut, joined, silence, speech } from "../../support/audio.js";
import { liveEngine, RECOGNIZER } from "../../support/engines.js";
import { eventually } from "../../support/eventually.js";
import { liveHost, remoteLiveEngine } from "../../support/fleet.js";
import { RECOGNIZER_FOLDER } from "../../support/folders.js";
import { InProcessHub } from "../../support/in-process-bus.js";
import { lightModels } from "../../support/light-models.js";
import { type Final, finalsOf } from "../../support/live-listener.js";
import { NewerPeer } from "../../support/newer-peer.js";

const SAID = joined(silence(0.3), speech("asterisk-ru-core/conf-lockednow.flac"), silence(0.6));

const RELEASES: Readonly<Record<string, { readonly protocol: Versions; readonly isLater: boolean }>> = {
  "this release": { protocol: { least: 1, most: 1 }, isLater: false },
  "the next release": { protocol: { least: 1, most: 2 }, isLater: true },
};
const faults: unknown[] = [];
const hub = new InProcessHub((error) => void faults.push(error));
const connect = (isLater: boolean) => (isLater ? new NewerPeer(hub.connect()) : hub.connect());
const hosts = new Map<string, LiveHost>();
let expected: Final[];

before(async () => {
  const { MODELS_DIR } = await lightModels();
  const settings = { ...RECOGNIZER, modelFolder: join(MODELS_DIR, basename(RECOGNIZER_FOLDER)) };
  const alone = await liveEngine({ startWorker: (cells, hear) => startLiveWorker(settings, cells, hear) });
  await alone.start();
  expected = await finalsOf(alone, [SAID]);
  await alone.stop();
  assert.ok(expected.length > 0);
  for (const [release, { protocol, isLater }] of Object.entries(RELEASES)) {
    // Each version has its own cell, so that a gateway reaches the engine it requests.
    const host = await liveHost(connect(isLater), {
      ...{ protocol, cell: release },
      startWorker: (cells, hear) => startLiveWorker(settings, cells, hear),
    });
    hosts.set(release, host);
    await host.start();
  }
});
after(async () => {
  for (const host of hosts.values()) await host.stop();
  assert.deepEqual(faults, []);
});

for (const [gateway, { protocol, isLater }] of Object.entries(RELEASES)) {
  for (const [engine, node] of Object.entries(RELEASES)) {
    test(`a gateway of ${gateway} and an engine of ${engine} use the latest version that both support`, async () => {
      const spoken = new Set<number>();
      const end = hub
        .connect()
        .subscribe("dauys.v1.engine.>", ({ bytes }) => void spoken.add(readBundle(bytes).version));
      const remote = await remoteLiveEngine(connect(isLater), { protocol, cell: engine });
      await remote.engine.start();
      assert.deepEqual(await finalsOf(remote.engine, cut(SAID, [1_600])), expected);
      assert.deepEqual(remote.endings, []);
      assert.deepEqual([...spoken], [Math.min(protocol.most, node.protocol.most)]);
      await remote.stop();
      end();
      await eventually("the node holds nothing", () => hosts.get(engine)!.laneCount === 0);
    });
  }
}

test("a gateway and an engine without a common version do not connect", async () => {
  const remote = await remoteLiveEngine(hub.connect(), {
    protocol: { least: 2, most: 2 },
    cell: "this release",
  });
  const starting = remote.engine.start();
  await eventually("the engine was heard", () => remote.directory.heartbeats.length > 0);
  assert.equal(hosts.get("this release")!.laneCount, 0);
  await remote.stop();
  await assert.rejects(starting);
});
