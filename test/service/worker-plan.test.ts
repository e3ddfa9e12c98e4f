import assert from "node:assert/strict";
import { test } from "node:test";
import type { InstalledModels } from "../../src/service/installed-models.js";
import type { Machine } from "../../src/service/machine.js";
import { describePlan, ENGINE_KINDS, planModels, planWorkers } from "../../src/service/worker-plan.js";
import { readConfig } from "../../src/settings/settings.js";
import { TINY_PACKAGES } from "../support/tiny-packages.js";

type Installed = Pick<InstalledModels, "recognizers" | "synthesizers">;

const MEGABYTE = 2 ** 20;
const GIGABYTE = 2 ** 30;

interface Given {
  readonly cores: number;
  readonly gigabytes: number;
  readonly hasQuota?: boolean;
  /** Megabytes for each live or file worker, and for each synthesis worker. */
  readonly megabytes?: readonly [hearing: number, speaking: number];
  readonly wanted?: Partial<Record<(typeof ENGINE_KINDS)[number], number>>;
}

/** The numbers of live, synthesis and transcription workers, with the reasons. */
function plan({ cores, gigabytes, hasQuota = false, megabytes = [100, 150], wanted = {} }: Given) {
  const [hearing, speaking] = megabytes;
  const machine = { cores, hasQuota, memoryBytes: gigabytes * GIGABYTE };
  const demand = (kind: (typeof ENGINE_KINDS)[number], size: number) => {
    return { bytes: size * MEGABYTE, wanted: wanted[kind] ?? null };
  };
  const workers = planWorkers(machine, {
    live: demand("live", hearing),
    synthesis: demand("synthesis", speaking),
    transcription: demand("transcription", hearing),
  });
  return ENGINE_KINDS.map((kind) => `${workers[kind].count} ${workers[kind].reason}`).join(", ");
}

const TABLE: readonly [name: string, given: Given, expected: string][] = [
  ["1 core", { cores: 1, gigabytes: 2 }, "1 cores, 1 cores, 1 cores"],
  ["2 cores", { cores: 2, gigabytes: 4 }, "2 cores, 2 cores, 2 cores"],
  ["4 cores", { cores: 4, gigabytes: 8 }, "4 cores, 4 cores, 4 cores"],
  ["8 cores", { cores: 8, gigabytes: 16 }, "8 cores, 8 cores, 8 cores"],
  ["16 cores", { cores: 16, gigabytes: 32 }, "16 cores, 16 cores, 16 cores"],
  ["64 cores", { cores: 64, gigabytes: 128 }, "16 sockets, 64 cores, 64 cores"],
  ["little memory", { cores: 8, gigabytes: 2 }, "3 memory, 3 memory, 2 memory"],
  ["hardly any memory", { cores: 4, gigabytes: 0.25 }, "1 memory, 1 memory, 1 memory"],
  ["a large recogniser", { cores: 8, gigabytes: 16, megabytes: [950, 150] }, "4 memory, 8 cores, 3 memory"],
  ["a quota of 1", { cores: 1, gigabytes: 4, hasQuota: true }, "1 quota, 1 quota, 1 quota"],
  ["a quota of 4", { cores: 4, gigabytes: 8, hasQuota: true }, "2 quota, 1 quota, 1 quota"],
  ["a quota of 8", { cores: 8, gigabytes: 16, hasQuota: true }, "3 quota, 3 quota, 2 quota"],
  ["a setting", { cores: 4, gigabytes: 8, wanted: { live: 1 } }, "1 setting, 4 cores, 4 cores"],
  [
    "settings beyond cores and memory",
    { cores: 2, gigabytes: 1, wanted: { live: 20, transcription: 3 } },
    "20 setting, 1 memory, 3 setting",
  ],
  [
    "a setting under a quota",
    { cores: 4, gigabytes: 8, hasQuota: true, wanted: { synthesis: 2 } },
    "1 quota, 2 setting, 1 quota",
  ],
];

for (const [name, given, expected] of TABLE) {
  test(`workers for ${name}: ${expected}`, () => {
    assert.equal(plan(given), expected);
  });
}

test("an additional model gets the remaining memory, but at least one worker of each kind", () => {
  const machine = { cores: 4, hasQuota: false, memoryBytes: 4 * GIGABYTE };
  const demand = { bytes: 200 * MEGABYTE, wanted: null };
  const demands = { live: demand, synthesis: demand, transcription: demand };
  const counts = (taken: number) => {
    const workers = planWorkers(machine, demands, taken);
    return ENGINE_KINDS.map((kind) => workers[kind].count);
  };
  assert.deepEqual(counts(0), [4, 3, 3]);
  assert.deepEqual(counts(GIGABYTE), [2, 2, 1]);
  assert.deepEqual(counts(3 * GIGABYTE), [1, 1, 1]);
});

test("an engine has one worker per device, unless the operator sets more", () => {
  const demand = { bytes: 1, wanted: null };
  const plan = planWorkers(
    { cores: 8, hasQuota: false, memoryBytes: 2 ** 34 },
    {
      live: { ...demand, devices: 2 },
      synthesis: { ...demand, wanted: 3, devices: 2 },
      transcription: demand,
    },
  );
  assert.deepEqual(plan.live, { count: 2, threads: 1, reason: "devices" });
  assert.deepEqual(plan.synthesis, { count: 3, threads: 1, reason: "setting" });
  assert.deepEqual(plan.transcription, { count: 8, threads: 1, reason: "cores" });
});

test("a model that cannot stream gets few live workers with several threads, unless told otherwise", async () => {
  const [recognizer, streaming, synthesizer] = ["tiny-gigaam-ctc", "tiny-t-one-ctc", "tiny-vits"].map(
    (id) => TINY_PACKAGES.find(({ manifest }) => manifest.id === id)!,
  );
  const liveOn = async (cores: number, settings: Record<string, string>, hearing = recognizer) => {
    const machine = { cores, hasQuota: false, memoryBytes: 64 * GIGABYTE };
    const installed = { recognizers: [hearing], synthesizers: [synthesizer] } as unknown as Installed;
    const { ofDefaults } = await planModels(readConfig(settings), installed, machine as Machine);
    return describePlan(ofDefaults).split(", ")[0];
  };
  assert.equal(await liveOn(1, {}), "1 live (cores)");
  assert.equal(await liveOn(2, {}), "1 live of 2 threads (cores)");
  assert.equal(await liveOn(8, {}), "2 live of 4 threads (cores)");
  assert.equal(await liveOn(4, { LIVE_WORKERS: "2" }), "2 live of 2 threads (setting)");
  assert.equal(await liveOn(2, { LIVE_THREADS: "1" }), "2 live (cores)");
  assert.equal(await liveOn(2, {}, streaming), "2 live (cores)");
});
