import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { readPackage } from "../../../native/models/find-packages.js";
import { SileroVad } from "../../../native/models/silero-vad.js";
import * as fc from "../../support/properties.js";

let vad: SileroVad;

before(async () => {
  const model = await readPackage("test/fixtures/adapters/tiny-gigaam-ctc", "transcription");
  vad = await SileroVad.load(model, { intraOpThreads: 1 });
});
after(() => vad.release());

const AUDIO = Float32Array.from(
  { length: 512 * 9 + 100 },
  (_, i) => 0.02 * Math.sin(i / 7) * Math.sin(i / 900),
);

/** The tiny graph by its recipe, window by window: what `models/recipes/adapters/silero_vad.py` says. */
function expectedProbabilities(): number[] {
  const mean = (part: Float32Array) => part.reduce((sum, sample) => sum + Math.abs(sample), 0) / part.length;
  let memory = 0;
  return Array.from({ length: 9 }, (_, window) => {
    const start = window * 512;
    const context = window === 0 ? new Float32Array(64) : AUDIO.subarray(start - 64, start);
    const level = 0.9 * mean(AUDIO.subarray(start, start + 512)) + 0.1 * mean(context);
    memory = 0.8 * memory + 0.2 * level;
    return 1 / (1 + Math.exp(4 - 400 * (0.7 * level + 0.3 * memory)));
  });
}

test("each window is heard behind its context, with the memory of those before it, however the audio is cut", async () => {
  const expected = expectedProbabilities();
  assert.ok(new Set(expected.map((value) => value.toFixed(3))).size > 5, "the windows differ");
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 1_300 }), { minLength: 1 }), async (sizes) => {
      const state = new Float32Array(vad.stateSize);
      for (let start = 0, i = 0; start < AUDIO.length; i++) {
        const part = AUDIO.subarray(start, start + sizes[i % sizes.length]!);
        const ended = expected.slice(
          Math.floor(start / 512),
          Math.min(expected.length, Math.floor((start + part.length) / 512)),
        );
        const found = await vad.push(state, part);
        start += part.length;
        const highest = ended.length === 0 ? 0 : Math.max(...ended);
        assert.ok(Math.abs(found - highest) < 1e-4, `at ${start}: ${found} for ${highest}`);
      }
    }),
    { numRuns: 20 },
  );
});
