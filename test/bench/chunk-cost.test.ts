import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { chunkCosts, showChunkCosts } from "../../bench/support/chunk-cost.js";
import { readManifest } from "../../native/models/find-packages.js";

const ADAPTERS = fileURLToPath(new URL("../../../test/fixtures/adapters/", import.meta.url));

for (const [name, chunkSeconds] of [
  ["tiny-t-one-ctc", 0.3],
  ["tiny-zipformer2-ctc", 0.32],
] as const) {
  test(`the cost of a chunk of ${name} is measured alone and with other streams`, async () => {
    const folder = ADAPTERS + name;
    const manifest = (await readManifest(folder))!;
    const costs = await chunkCosts({ folder, manifest }, 20);
    assert.equal(costs.chunkSeconds, chunkSeconds);
    assert.deepEqual(
      costs.runs.map(({ streams }) => streams),
      [1, 2, 4, 8, 16],
    );
    for (const { chunkMs, speakersPerCore } of costs.runs) {
      assert.ok(chunkMs > 0);
      assert.equal(speakersPerCore, (1_000 * chunkSeconds) / chunkMs);
    }
    assert.match(showChunkCosts(costs), new RegExp(`^a chunk of ${chunkSeconds.toFixed(2)} s `));
  });
}
