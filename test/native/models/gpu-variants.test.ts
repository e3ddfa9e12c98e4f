import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { test } from "node:test";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { feedsOf, type Sizes } from "../../../native/devices/feeds.js";
import { findPackages } from "../../../native/models/find-packages.js";
import { checkGraphFiles } from "../../../native/models/graph-files.js";
import { graphFile, type PackageFolder, placeOf } from "../../../native/models/package.js";

const SHAPES: Readonly<Record<string, Sizes>> = {
  stream: { batch: 2, frames: 3, samples: 3 * 640 },
  full: { batch: 2, frames: 7 },
  encoder: { batch: 1, tokens: 9 },
  condition: { batch: 1, tokens: 5, frames: 16 },
  step: { batch: 2, patches: 12 },
  vocoder: { batch: 2, frames: 11, samples: 11 * 256 },
};
const LARGEST_VARIANT_BYTES = 100_000;

/** Loads both variants of a graph on the CPU. */
async function bothOf(model: PackageFolder, graph: string) {
  const open = (provider: string) =>
    InferenceSession.create(placeOf(model, graphFile(model, graph, { provider })), { logSeverityLevel: 3 });
  return { cpu: await open("cpu"), gpu: await open("cuda") };
}

function bitsOf(tensor: Tensor | undefined): Buffer {
  const { buffer, byteOffset, byteLength } = tensor!.data as Float32Array;
  return Buffer.from(buffer, byteOffset, byteLength);
}

function assertSameBits(expected: InferenceSession.ReturnType, found: InferenceSession.ReturnType): void {
  for (const name of Object.keys(expected)) {
    assert.ok(bitsOf(expected[name] as Tensor).equals(bitsOf(found[name] as Tensor)), name);
  }
}

/** Punctuation runs only on the CPU. */
const MODELS = (await findPackages("models")).filter(({ manifest }) => manifest.task !== "punctuation");

for (const model of MODELS) {
  for (const [graph, file] of Object.entries(model.manifest.files)) {
    if (!file.path.endsWith(".onnx") || graph === "stream") continue;
    test(`the GPU variant of ${graph} is bit-identical to the graph`, async () => {
      const { cpu, gpu } = await bothOf(model, graph);
      assert.notEqual(file.gpu, undefined);
      const feeds = feedsOf(cpu, SHAPES[graph]!);
      assertSameBits(await cpu.run(feeds), await gpu.run(feeds));
      for (const session of [cpu, gpu]) await session.release();
    });
  }

  test(`GPU variants of ${model.manifest.id} use the weights of the original graphs`, async () => {
    for (const [graph, { gpu }] of Object.entries(model.manifest.files)) {
      if (gpu === undefined) continue;
      const { size } = await stat(placeOf(model, gpu));
      assert.ok(size < LARGEST_VARIANT_BYTES, `${gpu.path} has ${size} bytes`);
      assert.deepEqual(gpu.external, [graph]);
      assert.equal((await checkGraphFiles(model, graph, { provider: "cuda" })).hasSideFiles, true);
    }
  });
}

test("the GPU variant of the streaming graph keeps floats and bytes in one state", async () => {
  const [model] = MODELS;
  const { cpu, gpu } = await bothOf(model!, "stream");
  let feeds = feedsOf(cpu, SHAPES["stream"]!);
  let joined = feedsOf(gpu, SHAPES["stream"]!);
  for (let step = 0; step < 4; step++) {
    const { next_state, next_history, ...expected } = await cpu.run(feeds);
    const found = await gpu.run(joined);
    assertSameBits(expected, found);
    const state = joinedState(next_state as Tensor, next_history as Tensor);
    assertSameBits({ next_state: state }, found);
    feeds = { ...feeds, state: next_state as Tensor, history: next_history as Tensor };
    joined = { ...joined, state };
  }
  for (const session of [cpu, gpu]) await session.release();
});

function joinedState(state: Tensor, history: Tensor): Tensor {
  const [rows = 0, floats = 0] = state.dims;
  const [, bytes = 0] = history.dims;
  const values = new Float32Array(rows * (floats + bytes));
  for (let row = 0; row < rows; row++) {
    const at = row * (floats + bytes);
    values.set((state.data as Float32Array).subarray(row * floats, (row + 1) * floats), at);
    values.set((history.data as Uint8Array).subarray(row * bytes, (row + 1) * bytes), at + floats);
  }
  return new Tensor("float32", values, [rows, floats + bytes]);
}
