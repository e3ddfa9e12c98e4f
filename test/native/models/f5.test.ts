import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { ServiceError } from "../../../core/domain/errors.js";
import type { SynthesisJob } from "../../../core/ports/synthesizer.js";
import { F5 } from "../../../native/models/f5/f5.js";
import type { F5Manifest } from "../../../native/models/f5/manifest.js";
import { readPackage } from "../../../native/models/find-packages.js";
import { changeManifest, copyOfPackage, type Json } from "../../support/folders.js";
import { speakPiece } from "../../support/speak-piece.js";

const FOLDER = "test/fixtures/adapters/tiny-f5";
const HOP_SAMPLES = 256;
/** The number of frames of the half-second reference. */
const REFERENCE_FRAMES = Math.floor(12_000 / HOP_SAMPLES) + 1;
const REFERENCE_TEXT = "бір екі үш.";
const JOB: SynthesisJob = {
  modelId: "tiny-f5",
  voice: "tone",
  spokenText: "сәлем, әлем!",
  speed: 1,
  nfe: 8,
  seed: 1,
};
const spoken = async (...said: Parameters<typeof speakPiece>) => (await speakPiece(...said)).samples;

async function load(folder = FOLDER): Promise<F5> {
  return F5.load(await readPackage<F5Manifest, object>(folder, "synthesis"), { intraOpThreads: 1 });
}

function brokenModel(pattern: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ServiceError, String(error));
    assert.equal(error.code, "MODEL_BROKEN");
    assert.match(error.message, pattern);
    return true;
  };
}

function distance(a: Float32Array, b: Float32Array): number {
  assert.equal(a.length, b.length);
  return a.reduce((most, sample, i) => Math.max(most, Math.abs(sample - b[i]!)), 0);
}

async function replaceFile(folder: string, name: string, bytes: Uint8Array): Promise<void> {
  await changeManifest(folder, (manifest) => {
    const files = manifest["files"] as Record<string, Json>;
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return { ...manifest, files: { ...files, [name]: { path: `${name}.bin`, sha256 } } };
  });
  await writeFile(join(folder, `${name}.bin`), bytes);
}

test("a piece's duration follows from the reference, the bytes of both texts and the speed", async () => {
  const model = await load();
  const ratio = Buffer.byteLength(JOB.spokenText) / Buffer.byteLength(REFERENCE_TEXT);
  for (const speed of [0.5, 1, 2]) {
    const samples = await spoken(model, { ...JOB, speed });
    assert.equal(samples.length, Math.floor((REFERENCE_FRAMES * ratio) / speed) * HOP_SAMPLES);
    assert.ok(samples.some((sample) => sample !== 0));
    assert.ok(samples.every((sample) => Math.abs(sample) <= 1));
  }
  await model.release();
});

test("the transformer runs as often as the manifest says, each time on the last output", async () => {
  // After four runs, but not after three, the tiny graph reaches its condition from any initial noise.
  const model = await load();
  const samples = await spoken(model, JOB);
  // Different noise is rounded differently, by at most one 16-bit step.
  assert.ok(distance(await spoken(model, JOB), samples) < 2 / 32_768);
  assert.ok(distance(await spoken(model, { ...JOB, spokenText: "сәлем, елім!" }), samples) > 0.001);
  await model.release();
  const folder = await copyOfPackage(FOLDER);
  await changeManifest(folder, (manifest) => ({ ...manifest, transformerRuns: 3 }));
  const unfinished = await load(folder);
  assert.ok(distance(await spoken(unfinished, JOB), samples) > 0.01);
  await unfinished.release();
});

test("a cancelled piece ends before the next run", async () => {
  const model = await load();
  let checks = 0;
  const cancel = async () => {
    if (++checks === 2) throw new ServiceError("CANCELLED", "synthesis was cancelled");
  };
  await assert.rejects(spoken(model, JOB, cancel), /synthesis was cancelled/);
  assert.equal(checks, 2);
  await model.release();
});

test("an unknown voice is rejected", async () => {
  const model = await load();
  await assert.rejects(spoken(model, { ...JOB, voice: "nobody" }), /voice nobody is not known/);
  await model.release();
});

for (const file of ["preprocess", "transformer", "decode"]) {
  test(`another graph as ${file} is rejected with file and tensors`, async () => {
    const folder = await copyOfPackage(FOLDER);
    const other = file === "decode" ? "preprocess.onnx" : "decode.onnx";
    await replaceFile(folder, file, await readFile(join(folder, other)));
    await assert.rejects(load(folder), brokenModel(new RegExp(`tiny-f5/${file}\\.bin: inputs must contain`)));
  });
}

test("a reference that is not a WAV file is rejected with the file's name", async () => {
  const folder = await copyOfPackage(FOLDER);
  await replaceFile(folder, "tone", await readFile(join(folder, "vocab.txt")));
  await assert.rejects(load(folder), brokenModel(/tiny-f5\/tone\.bin: /));
});

test("a vocabulary without a letter is rejected with file and letter", async () => {
  const folder = await copyOfPackage(FOLDER);
  const lines = await readFile(join(folder, "vocab.txt"), "utf8");
  await replaceFile(folder, "vocabulary", Buffer.from(lines.replace("ғ\n", "")));
  await assert.rejects(load(folder), brokenModel(/tiny-f5\/vocabulary\.bin: lines must contain "ғ"/));
});

test("a voice without its recording or its text is rejected with its name", async () => {
  const folder = await copyOfPackage(FOLDER);
  const voice = { name: "tone", index: 0, gender: null, style: null, best_for: null };
  const withVoice = (change: Json) =>
    changeManifest(folder, (manifest) => ({ ...manifest, voices: [{ ...voice, ...change }] }));
  await withVoice({ reference: "nowhere", referenceText: "бір" });
  await assert.rejects(load(folder), brokenModel(/files must list "nowhere" for voice tone/));
  await withVoice({ reference: "tone" });
  await assert.rejects(load(folder), brokenModel(/referenceText must be a string, found undefined/));
});
