import assert from "node:assert/strict";
import { test } from "node:test";
import { readManifest } from "../../native/models/find-packages.js";
import type { ModelManifest, RecognizerManifest, SynthesizerManifest } from "../../native/models/manifest.js";
import { planModels } from "../../src/service/worker-plan.js";
import { readConfig } from "../../src/settings/settings.js";
import { RECOGNIZER_FOLDER, SYNTHESIZER_FOLDER } from "../support/folders.js";
import { read, section, tableRows } from "./markdown.js";

async function packageAt<M extends ModelManifest>(folder: string) {
  return { folder, manifest: (await readManifest(folder)) as M };
}

test("docs/sizing.md states the number of workers for the shipped models", async () => {
  const shipped = {
    recognizers: [await packageAt<RecognizerManifest>(RECOGNIZER_FOLDER)],
    synthesizers: [await packageAt<SynthesizerManifest>(SYNTHESIZER_FOLDER)],
  };
  const rows = tableRows(section(read("docs/sizing.md"), "## Workers"));
  assert.ok(rows.length >= 8, `${rows.length} rows`);
  for (const [cores = "", memory = "", ...shown] of rows) {
    const machine = {
      cores: Number(/\d+$/.exec(cores)![0]),
      hasQuota: cores.startsWith("quota"),
      memoryBytes: Number.parseInt(memory, 10) * 2 ** 30,
      isMemoryLimited: false,
    };
    const { ofDefaults: plan } = await planModels(readConfig({}), shipped, machine);
    const counts = [plan.live.count, plan.synthesis.count, plan.transcription.count].map(String);
    assert.deepEqual(shown.slice(0, 3), counts, `${cores} cores, ${memory}`);
    const reasons = new Set([plan.live.reason, plan.synthesis.reason, plan.transcription.reason]);
    assert.ok(
      [...reasons].some((reason) => shown[3]!.startsWith(reason)),
      `${cores} cores, ${memory}: ${[...reasons]}`,
    );
  }
});
