import assert from "node:assert/strict";
import { after } from "node:test";
import type { LiveHost } from "../../../actors/node/live-host.js";
import { eventually } from "../../support/eventually.js";
import { liveHost, remoteLiveEngine } from "../../support/fleet.js";
import { InProcessHub } from "../../support/in-process-bus.js";
import { liveEngineContract } from "./engine-contract.js";

const faults: unknown[] = [];
const hub = new InProcessHub((error) => void faults.push(error));
const hosts: LiveHost[] = [];
const directories: { close(): void }[] = [];

liveEngineContract("the bus of the process", async (changes = {}) => {
  // One node per lane.
  for (let count = hosts.length; count < (changes.workerCount ?? 1); count++) {
    const host = await liveHost(hub.connect());
    hosts.push(host);
    await host.start();
  }
  const { engine, directory } = await remoteLiveEngine(hub.connect(), changes);
  directories.push(directory);
  return engine;
});

after(async () => {
  await eventually("every session was given back", () => hosts.every((host) => host.sessionCount === 0));
  for (const host of hosts) await host.stop();
  for (const directory of directories) directory.close();
  assert.deepEqual(faults, []);
});
