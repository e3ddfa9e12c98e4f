import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { CtcTwoPass } from "../../../native/models/ctc-two-pass/ctc-two-pass.js";
import type { CtcTwoPassContents } from "../../../native/models/ctc-two-pass/manifest.js";
import { readManifest, readPackage } from "../../../native/models/find-packages.js";
import { loadGraph } from "../../../native/models/graph.js";
import type { RecognizerManifest } from "../../../native/models/manifest.js";
import type { PackageFolder } from "../../../native/models/package.js";
import { ServiceError } from "../../../src/domain/errors.js";
import { RECOGNIZER_FOLDER, SYNTHESIZER_FOLDER, temporaryFolder } from "../../support/folders.js";

const OPTIONS = { intraOpThreads: 1 };
const VOCODER = {
  file: "graph",
  inputs: ["mel", "f0", "voicing", "excitation", "noise"],
  outputs: ["pcm"],
} as const;

/** A package whose files hold these bytes, each with the hash it really has. */
async function packageOf(
  files: Readonly<Record<string, Uint8Array>>,
): Promise<PackageFolder<RecognizerManifest>> {
  const folder = await temporaryFolder();
  const named: Record<string, { path: string; sha256: string }> = {};
  for (const [name, bytes] of Object.entries(files)) {
    await writeFile(join(folder, `${name}.bin`), bytes);
    named[name] = { path: `${name}.bin`, sha256: createHash("sha256").update(bytes).digest("hex") };
  }
  const manifest = (await readManifest(RECOGNIZER_FOLDER)) as RecognizerManifest;
  return { folder, manifest: { ...manifest, id: "made-up", files: named } };
}

function shipped(folder: string, file: string): Promise<Uint8Array> {
  return readFile(join(folder, file));
}

function brokenModel(pattern: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ServiceError);
    assert.equal(error.code, "MODEL_BROKEN");
    assert.match(error.message, pattern);
    return true;
  };
}

test("a graph that keeps its contract is loaded", async () => {
  const model = await packageOf({ graph: await shipped(SYNTHESIZER_FOLDER, "vocoder.onnx") });
  const graph = await loadGraph(model, VOCODER, OPTIONS);
  assert.deepEqual(graph.outputNames, ["pcm"]);
  await graph.release();
});

test("a graph that was cut short is refused by its name", async () => {
  const bytes = await shipped(SYNTHESIZER_FOLDER, "vocoder.onnx");
  const model = await packageOf({ graph: bytes.subarray(0, bytes.length / 2) });
  await assert.rejects(loadGraph(model, VOCODER, OPTIONS), brokenModel(/Cannot load made-up\/graph\.bin: /));
});

test("an empty graph is refused by its name", async () => {
  const model = await packageOf({ graph: new Uint8Array(0) });
  await assert.rejects(loadGraph(model, VOCODER, OPTIONS), brokenModel(/Cannot load made-up\/graph\.bin: /));
});

test("another graph in its place is refused with the tensors that are missing and those that are there", async () => {
  const model = await packageOf({ graph: await shipped(SYNTHESIZER_FOLDER, "encoder.onnx") });
  await assert.rejects(
    loadGraph(model, VOCODER, OPTIONS),
    brokenModel(/graph\.bin: inputs must contain mel, f0, voicing, excitation, noise, found tokens, /),
  );
});

test("a graph that lacks an output is refused with its name", async () => {
  const model = await packageOf({ graph: await shipped(SYNTHESIZER_FOLDER, "vocoder.onnx") });
  const contract = { ...VOCODER, outputs: ["pcm", "loudness"] };
  await assert.rejects(
    loadGraph(model, contract, OPTIONS),
    brokenModel(/graph\.bin: outputs must contain loudness, found pcm$/),
  );
});

test("a recogniser whose vocabulary has another size than its output is refused", async () => {
  const model = await packageOf({
    stream: await shipped(RECOGNIZER_FOLDER, "stream.onnx"),
    full: await shipped(RECOGNIZER_FOLDER, "full.onnx"),
  });
  await assert.rejects(
    CtcTwoPass.load({ ...model, contents: { vocabulary: ["", " ", "а"] } }, OPTIONS),
    brokenModel(/made-up: vocabulary must have \d+ entries, found 3/),
  );
});

test("rows of a batch do not depend on each other", async () => {
  const shippedPackage = await readPackage<RecognizerManifest, CtcTwoPassContents>(
    RECOGNIZER_FOLDER,
    "transcription",
  );
  const { manifest } = shippedPackage;
  const model = await CtcTwoPass.load(shippedPackage, OPTIONS);
  const frames = 4;
  const single = model.stepBatch(1, frames);
  const pair = model.stepBatch(2, frames);
  const size = frames * manifest.frameSamples;
  for (let i = 0; i < size; i++) single.pcm[i] = Math.sin(i / 9) * 0.3;
  pair.pcm.set(single.pcm, size);
  pair.pcm.fill(0.01, 0, size);
  await single.run();
  await pair.run();
  const rowSize = frames * model.vocabulary.length;
  const row = pair.logProbs.subarray(rowSize, 2 * rowSize);
  // Kernels of another batch size sum in another order: single precision, log-probs down to -20.
  for (const [i, value] of single.logProbs.entries()) {
    assert.ok(Math.abs(row[i]! - value) < 1e-3, `log-prob ${i}: ${row[i]} beside another, ${value} alone`);
  }
  await model.release();
});
