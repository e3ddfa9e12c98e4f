import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Tensor } from "onnxruntime-node";
import { readPackage } from "../../../native/models/find-packages.js";
import { loadGraph } from "../../../native/models/graph.js";
import type { Graph } from "../../../native/models/graph-interface.js";
import { SileroVad } from "../../../native/models/silero-vad.js";
import { StateRows } from "../../../native/models/state-rows.js";
import * as fc from "../../support/properties.js";

const FRAME = 640;
const FRAMES = 8;
const ROWS = 5;
let graph: Graph;
let vad: SileroVad;

before(async () => {
  const model = await readPackage("test/fixtures/adapters/tiny-gigaam-ctc", "transcription");
  graph = await loadGraph(model, { file: "vad", inputs: [], outputs: [] }, { intraOpThreads: 1 });
  vad = await SileroVad.over(graph, "vad");
});
after(() => vad.release());

/** Windows end at samples 512, 1024, …: one window in each of the frames 0 to 2, and two in frame 3. */
const AUDIO = Array.from({ length: ROWS }, (_, row) =>
  Float32Array.from(
    { length: FRAMES * FRAME },
    (_, i) => 0.02 * Math.sin(i / (7 + row)) * Math.sin(i / (900 - 90 * row)),
  ),
);

/** Computes the tiny graph's formula window by window, as `models/recipes/adapters/silero_vad.py` does. */
function expectedSpeech(audio: Float32Array): number[] {
  const mean = (part: Float32Array) => part.reduce((sum, sample) => sum + Math.abs(sample), 0) / part.length;
  const speech = Array.from({ length: FRAMES }, () => 0);
  let memory = 0;
  for (let start = 0; start + 512 <= audio.length; start += 512) {
    const context = start === 0 ? new Float32Array(64) : audio.subarray(start - 64, start);
    const level = 0.9 * mean(audio.subarray(start, start + 512)) + 0.1 * mean(context);
    memory = 0.8 * memory + 0.2 * level;
    const frame = Math.ceil((start + 512) / FRAME) - 1;
    speech[frame] = Math.max(speech[frame]!, 1 / (1 + Math.exp(4 - 400 * (0.7 * level + 0.3 * memory))));
  }
  return speech;
}

/** Runs rows of the same length together, with these numbers of frames at a time. */
async function hear(
  found: SileroVad,
  rows: readonly Float32Array[],
  sizes: readonly number[],
): Promise<number[][]> {
  const { rows: states } = new StateRows(found, rows.length);
  const heard: number[][] = rows.map(() => []);
  const total = rows[0]!.length / FRAME;
  for (let start = 0, i = 0; start < total; i++) {
    const frames = Math.min(sizes[i % sizes.length]!, total - start);
    const pcm = new Float32Array(rows.length * frames * FRAME);
    for (const [row, audio] of rows.entries())
      pcm.set(audio.subarray(start * FRAME, (start + frames) * FRAME), row * frames * FRAME);
    const speech = new Float32Array(rows.length * frames);
    await found.hear({ frames, pcm, speech, states });
    for (const [row, all] of heard.entries()) all.push(...speech.subarray(row * frames, (row + 1) * frames));
    start += frames;
  }
  return heard;
}

test("each window is read after its context, with the memory of earlier windows", async () => {
  for (const audio of AUDIO) {
    const expected = expectedSpeech(audio);
    assert.ok(new Set(expected.map((value) => value.toFixed(3))).size > 5, "the windows differ");
    const [found] = await hear(vad, [audio], [1]);
    for (const [frame, value] of found!.entries())
      assert.ok(Math.abs(value - expected[frame]!) < 1e-4, `frame ${frame}: ${value} for ${expected[frame]}`);
  }
});

test("a row is bit-identical however it is chunked and batched", async () => {
  assert.equal(vad.sharesRuns, true);
  const alone: number[][] = [];
  for (const audio of AUDIO) alone.push((await hear(vad, [audio], [1]))[0]!);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1 }),
      fc.integer({ min: 1, max: ROWS }),
      async (sizes, rows) => {
        assert.deepEqual(await hear(vad, AUDIO.slice(0, rows), sizes), alone.slice(0, rows));
      },
    ),
    { numRuns: 20 },
  );
});

test("streams whose windows end at different times share runs without affecting each other", async () => {
  const [first, second] = AUDIO as [Float32Array, Float32Array];
  const expected = [(await hear(vad, [first], [1]))[0]!, (await hear(vad, [second], [1]))[0]!];
  const { rows: states } = new StateRows(vad, 2);
  const heard: number[] = [];
  for (let frame = 0; frame < FRAMES; frame++) {
    // The second stream begins one frame later.
    const rows = frame === 0 ? [0] : [0, 1];
    const pcm = new Float32Array(rows.length * FRAME);
    pcm.set(first.subarray(frame * FRAME, (frame + 1) * FRAME));
    if (frame > 0) pcm.set(second.subarray((frame - 1) * FRAME, frame * FRAME), FRAME);
    const speech = new Float32Array(rows.length);
    await vad.hear({ frames: 1, pcm, speech, states: states.slice(0, rows.length) });
    assert.equal(speech[0], expected[0]![frame]);
    if (frame > 0) heard.push(speech[1]!);
  }
  assert.deepEqual(heard, expected[1]!.slice(0, FRAMES - 1));
});

/** How a single-row graph can fail in a batch of several rows. */
const UNSHARED: Readonly<Record<string, (output: Float32Array) => void>> = {
  "rounds otherwise in batches": (output) => {
    output[output.length - 1]! *= 1 + 1e-6;
  },
  "takes one row": () => {
    throw new Error("Got invalid dimensions for input");
  },
};

for (const [what, disturb] of Object.entries(UNSHARED)) {
  test(`a graph that ${what} runs windows one by one, independent of the batch`, async () => {
    let largest = 0;
    const disturbed: Graph = {
      ...graph,
      inputNames: graph.inputNames,
      outputNames: graph.outputNames,
      release: async () => {},
      run: async (feeds, fetches) => {
        const answer = await graph.run(feeds, fetches);
        const rows = feeds["input"]!.dims[0]!;
        largest = Math.max(largest, rows);
        if (rows > 1) disturb((fetches as Record<string, Tensor>)["output"]!.data as Float32Array);
        return answer;
      },
    };
    const careful = await SileroVad.over(disturbed, "vad");
    assert.equal(careful.sharesRuns, false);
    largest = 0;
    const alone: number[][] = [];
    for (const audio of AUDIO) alone.push((await hear(vad, [audio], [1]))[0]!);
    assert.deepEqual(await hear(careful, AUDIO, [3]), alone);
    assert.equal(largest, 1);
  });
}
