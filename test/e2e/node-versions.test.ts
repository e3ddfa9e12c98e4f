import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { runLive } from "../../bench/support/live-client.js";
import { toInt16 } from "../../core/domain/audio/pcm.js";
import { resample } from "../../core/domain/audio/resample.js";
import { WavSampleReader } from "../../core/domain/audio/wav-samples.js";
import { loadBinding } from "../../native/beam/binding.js";
import { startServiceProcess } from "../support/service-process.js";

/**
 * These are the versions that `scripts/runtimes.mjs fetch` downloads. The tests themselves already run on a
 * supported version.
 */
const NODES = new URL("../../../.cache/runtimes/nodes/node_modules/", import.meta.url);
const MAJORS = [22, 24];
/**
 * The tests run on the oldest supported version. Code that passes on both the oldest and the newest version
 * is taken to pass on those in between.
 */
const NEWEST = 24;
/**
 * The share of the random cases that runs here. They find mistakes in our own code, which are the same on
 * every version.
 */
const SHARE_OF_CASES = "0.2";
const RUN_TESTS = fileURLToPath(new URL("../../../scripts/test.mjs", import.meta.url));
const CONTRACT = fileURLToPath(new URL("../front/front.test.js", import.meta.url));
const DAUYS = fileURLToPath(new URL("../../../bin/dauys.js", import.meta.url));
const BEAM = fileURLToPath(new URL("../../../native/beam/build/Release/beam.node", import.meta.url));
const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));

for (const major of MAJORS) {
  const node = fileURLToPath(new URL(`node-${major}/bin/node`, NODES));
  const skip =
    !existsSync(node) && `Node ${major} is not here: node scripts/runtimes.mjs fetch ${MAJORS.join(" ")}`;

  test(`the service on Node ${major} speaks, transcribes and listens`, { skip }, async () => {
    const service = await startServiceProcess({ MODEL_PRELOAD: "true" }, { node: [node] });
    try {
      const headers = { authorization: `Bearer ${service.key}` };
      const spoken = await fetch(`${service.url}/v1/tts`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ text: "Бүгін күн жылы.", nfe: 8, seed: 1 }),
      });
      assert.equal(spoken.status, 200);
      const wav = Buffer.from(await spoken.arrayBuffer());
      const file = {
        method: "POST",
        headers: { ...headers, "content-type": "application/octet-stream" },
        body: wav,
      };
      const transcript = await (await fetch(`${service.url}/v1/transcribe`, file)).json();
      assert.equal((transcript as { text: string }).text, "бүгін күн жылы");
      const samples = new WavSampleReader(wav.length).push(wav);
      const pcm = toInt16(resample(samples, { fromHz: 24_000, toHz: 16_000 }));
      const live = { url: service.url, key: service.key, pcm, messageSamples: 1_600, isPaced: false };
      const { received, closeCode } = await runLive(live);
      const finals = received.flatMap(({ message }) => (message.type === "final" ? [message.text] : []));
      assert.deepEqual([finals.join(" "), closeCode], ["бүгін күн жылы", 1000]);
    } finally {
      assert.equal(await service.stop(), 0, service.output());
    }
  });

  test(`the fronts, the addon and the command line work on Node ${major}`, {
    skip,
  }, () => {
    // A test file would not output TAP if it inherited this variable from a parent runner.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const contract = spawnSync(node, ["--test-reporter=tap", CONTRACT], { encoding: "utf8", env });
    assert.equal(contract.status, 0, contract.stdout.slice(-4_000));
    assert.match(contract.stdout, /^# pass [1-9]\d$/m);
    if (loadBinding().missing === null)
      assert.equal(
        spawnSync(node, ["-p", "typeof require(process.argv[1]).search", BEAM], { encoding: "utf8" }).stdout,
        "function\n",
      );
    assert.equal(spawnSync(node, [DAUYS, "--version"], { encoding: "utf8" }).stdout.trim(), version);
  });

  if (major !== NEWEST) continue;
  test(`the quick half of the tests passes on Node ${major}`, { skip }, () => {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const quick = spawnSync(node, [RUN_TESTS, "--quick", "--running"], {
      encoding: "utf8",
      env: { ...env, PROPERTY_RUNS: SHARE_OF_CASES },
      maxBuffer: 2 ** 26,
    });
    assert.equal(quick.status, 0, quick.stdout.slice(-4_000));
    const [, passed = 0] = /^# pass (\d+)$/m.exec(quick.stdout) ?? [];
    assert.ok(Number(passed) > 900, `${passed} passed`);
  });
}
