import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { kindOfRunError, ProviderError } from "../../../core/domain/placement/provider-error.js";
import { CtcTwoPass } from "../../../native/models/ctc-two-pass/ctc-two-pass.js";
import type { CtcTwoPassContents } from "../../../native/models/ctc-two-pass/manifest.js";
import { DeviceCells } from "../../../native/models/device-cells.js";
import { readPackage } from "../../../native/models/find-packages.js";
import type { RecognizerManifest } from "../../../native/models/manifest.js";
import type { ModelPackage } from "../../../native/models/package.js";
import type { StepBatch } from "../../../native/models/recognizer.js";
import { RunTimes } from "../../../native/models/run-times.js";
import { setDeviceFault, simulateCuda } from "../../support/device/simulated-cuda.js";
import { RECOGNIZER_FOLDER } from "../../support/folders.js";

const ROWS = 5;
const FRAMES = 2;
const shared = DeviceCells.create();
const cells = new DeviceCells(shared);
let runTimes: RunTimes;
let onCpu: CtcTwoPass;
let onDevice: CtcTwoPass;

before(async () => {
  simulateCuda();
  const model = (await readPackage<RecognizerManifest>(RECOGNIZER_FOLDER, "transcription")) as ModelPackage<
    RecognizerManifest,
    CtcTwoPassContents
  >;
  runTimes = new RunTimes(model);
  onCpu = await CtcTwoPass.load(model, { intraOpThreads: 1 });
  const placement = { provider: "cuda", device: 0, thread: 1, cells: shared } as const;
  onDevice = await CtcTwoPass.load(model, { intraOpThreads: 1, placement, runTimes: runTimes.cells });
});
after(async () => {
  await onCpu.release();
  await onDevice.release();
});

/** Five rows, each with different audio. */
function batchOf(model: CtcTwoPass): StepBatch {
  const batch = model.stepBatch(ROWS, FRAMES);
  for (let i = 0; i < batch.pcm.length; i++) batch.pcm[i] = 0.3 * Math.sin((i * i) / 5_000);
  return batch;
}

test("rows that exceed a device's memory run in parts, with the same results", async () => {
  const [whole, halved] = [batchOf(onCpu), batchOf(onDevice)];
  await whole.run();
  const before = cells.errorCount("out-of-memory");
  setDeviceFault("one-row");
  await halved.run();
  setDeviceFault("none");
  assert.deepEqual(halved.logProbs, whole.logProbs);
  assert.deepEqual(halved.speech, whole.speech);
  assert.deepEqual(halved.encoded, whole.encoded);
  // The batches of five, three, two and two rows are each split once; single rows never are.
  assert.equal(cells.errorCount("out-of-memory") - before, 4);
});

test("a single row without memory and a lost device are distinct provider failures", async () => {
  for (const [fault, kind] of [
    ["no-memory", "out-of-memory"],
    ["lost", "lost"],
  ] as const) {
    setDeviceFault(fault);
    const failed = batchOf(onDevice).run();
    await assert.rejects(
      failed,
      (error) =>
        error instanceof ProviderError &&
        error.kind === kind &&
        error.message.startsWith("Cannot run svc-kk-ru-v2/stream.gpu.onnx on cuda (device 0): "),
    );
    setDeviceFault("none");
  }
});

/** Returns the encoder output of utterances of these lengths in frames. */
async function encodedOf(counts: readonly number[]): Promise<Float32Array[]> {
  const encoded: Float32Array[] = [];
  for (const [nth, count] of counts.entries()) {
    const batch = onCpu.stepBatch(1, count);
    for (let i = 0; i < batch.pcm.length; i++) batch.pcm[i] = 0.2 * Math.sin((i * i) / (4_000 + 900 * nth));
    await batch.run();
    encoded.push(batch.encoded.slice());
  }
  return encoded;
}

test("second passes are bit-identical alone and in one run, with any padding", async () => {
  const counts = [9, 61, 1, 37, 150];
  const utterances = await encodedOf(counts);
  for (const model of [onCpu, onDevice]) {
    const together = await model.refine(utterances);
    assert.deepEqual(
      together.map(({ frames }) => frames),
      counts,
    );
    for (const [nth, utterance] of utterances.entries()) {
      const [alone] = await onCpu.refine([utterance]);
      assert.deepEqual(together[nth]!.logProbs, alone!.logProbs, `${counts[nth]} frames`);
    }
  }
});

test("runs are counted by graph, rows and busy device", async () => {
  const count = () => runTimes.read().find(({ graph }) => graph === "stream")!;
  const [before, busyBefore] = [count(), cells.busyMicros(0)];
  await batchOf(onDevice).run();
  const after = count();
  const sum = (counts: readonly number[]) => counts.reduce((all, one) => all + one, 0);
  assert.equal(sum(after.counts) - sum(before.counts), 1);
  assert.ok(after.sumMs > before.sumMs);
  assert.equal(after.rows - before.rows, ROWS);
  assert.ok(cells.busyMicros(0) > busyBefore);
});

const SAID: readonly (readonly [string, ReturnType<typeof kindOfRunError>])[] = [
  ["CUDA failure 2: out of memory ; GPU=0 ; hostname=a ; file=cuda_allocator.cc", "out-of-memory"],
  ["CUDNN failure 4000: CUDNN_STATUS_ALLOC_FAILED ; GPU=0", "out-of-memory"],
  ["CUDA failure 700: an illegal memory access was encountered ; GPU=1", "lost"],
  ["CUDA failure 1: invalid argument ; GPU=0", "other"],
  ["WebGPU device lost (2): A valid external Instance reference no longer exists.", "lost"],
  ["The GPU device instance has been suspended. HRESULT 887A0006", "lost"],
  ["Too many storage buffers in shader. Current: 17, Max is 16", "out-of-memory"],
  ["vkCreateBuffer failed with VK_ERROR_OUT_OF_DEVICE_MEMORY", "out-of-memory"],
  ["Non-zero status code returned while running Concat node. Name:'x'", "other"],
];
for (const [message, kind] of SAID) {
  test(`${message.slice(0, 30)}… is ${kind}`, () => {
    assert.equal(kindOfRunError(message), kind);
  });
}

test("a lock has one holder at a time and is freed when its thread ends", async () => {
  let holders = 0;
  const hold = async (thread: number) =>
    cells.holdingLock(thread, async () => {
      assert.equal(++holders, 1);
      await Promise.resolve();
      holders--;
    });
  await Promise.all([hold(7), hold(8), hold(7), hold(9)]);
  let goesOn = () => {};
  const stuck = cells.holdingLock(7, () => new Promise<void>((resolve) => (goesOn = resolve)));
  const next = hold(8);
  cells.releaseLockOf(8);
  cells.releaseLockOf(7);
  await next;
  goesOn();
  await stuck;
});
