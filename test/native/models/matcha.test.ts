import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { ServiceError } from "../../../core/domain/errors.js";
import type { SynthesisJob } from "../../../core/ports/synthesizer.js";
import { readPackage } from "../../../native/models/find-packages.js";
import type { MatchaContents, MatchaManifest } from "../../../native/models/matcha/manifest.js";
import { Matcha } from "../../../native/models/matcha/matcha.js";
import { changeManifest, copyOfPackage, type Json } from "../../support/folders.js";
import { speakPiece } from "../../support/speak-piece.js";

const FOLDER = "test/fixtures/adapters/tiny-matcha";
const JOB: SynthesisJob = {
  modelId: "tiny-matcha",
  voice: "first",
  spokenText: "сәлем, әлем!",
  speed: 1,
  nfe: 8,
  seed: 1,
};

async function load(folder = FOLDER): Promise<Matcha> {
  return Matcha.load(await readPackage<MatchaManifest, MatchaContents>(folder, "synthesis"), {
    intraOpThreads: 1,
  });
}

async function spoken(model: Matcha, change: Partial<SynthesisJob> = {}): Promise<Float32Array> {
  return (await speakPiece(model, { ...JOB, ...change })).samples;
}

function brokenModel(pattern: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ServiceError, String(error));
    assert.equal(error.code, "MODEL_BROKEN");
    assert.match(error.message, pattern);
    return true;
  };
}

async function replaceFile(folder: string, name: string, bytes: Uint8Array): Promise<void> {
  await changeManifest(folder, (manifest) => {
    const files = manifest["files"] as Record<string, Json>;
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return { ...manifest, files: { ...files, [name]: { path: `${name}.bin`, sha256 } } };
  });
  await writeFile(join(folder, `${name}.bin`), bytes);
}

test("a piece's length follows its symbols with blanks between them", async () => {
  const model = await load();
  // The tiny graph gives one frame to a blank and four to a symbol, and adds two frames of padding.
  const symbols = [...JOB.spokenText].length;
  assert.equal((await spoken(model)).length, (4 * symbols + (symbols + 1)) * 256);
  await model.release();
});

test("speed and length scale change a piece's length", async () => {
  const model = await load();
  const usual = await spoken(model);
  assert.equal((await spoken(model, { speed: 0.5 })).length, 2 * usual.length);
  await model.release();
  const folder = await copyOfPackage(FOLDER);
  await changeManifest(folder, (manifest) => ({ ...manifest, lengthScale: 2 }));
  const slow = await load(folder);
  assert.equal((await spoken(slow)).length, 2 * usual.length);
  await slow.release();
});

test("at temperature 0, only text and voice change the samples", async () => {
  const model = await load();
  const usual = await spoken(model);
  assert.deepEqual(await spoken(model), usual);
  assert.notDeepEqual(await spoken(model, { spokenText: "сәлем, әлім!" }), usual);
  assert.notDeepEqual(await spoken(model, { voice: "second" }), usual);
  await model.release();
});

test("at a temperature above 0, noise changes the samples", async () => {
  const folder = await copyOfPackage(FOLDER);
  await changeManifest(folder, (manifest) => ({ ...manifest, temperature: 0.667 }));
  const model = await load(folder);
  assert.notDeepEqual(await spoken(model), await spoken(model));
  await model.release();
});

test("a piece begins and ends at zero", async () => {
  const model = await load();
  const samples = await spoken(model);
  const loudest = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
  assert.ok(loudest > 0);
  assert.equal(Math.abs(samples[0]!), 0);
  assert.equal(Math.abs(samples.at(-1)!), 0);
  for (const near of [...samples.slice(0, 5), ...samples.slice(-5)]) assert.ok(Math.abs(near) < loudest / 10);
  await model.release();
});

test("a sign without a symbol is left out", async () => {
  const model = await load();
  assert.deepEqual(await spoken(model, { spokenText: "сә;лем, әлем!" }), await spoken(model));
  await model.release();
});

test("symbols without a letter are rejected with file and letter", async () => {
  const folder = await copyOfPackage(FOLDER);
  const { symbols } = JSON.parse(await readFile(join(folder, "symbols.json"), "utf8")) as {
    symbols: string[];
  };
  const without = symbols.filter((symbol) => symbol !== "ң");
  await replaceFile(folder, "symbols", Buffer.from(JSON.stringify({ symbols: without })));
  await assert.rejects(load(folder), brokenModel(/tiny-matcha\/symbols\.bin: symbols must contain "ң"/));
});

test("a vocoder instead of the acoustic graph is rejected with file and tensors", async () => {
  const folder = await copyOfPackage(FOLDER);
  await replaceFile(folder, "acoustic", await readFile(join(folder, "vocoder.onnx")));
  await assert.rejects(
    load(folder),
    brokenModel(/acoustic\.bin: inputs must contain x, x_lengths, scales, found mel/),
  );
});

test("without a vocoder the graph must output samples", async () => {
  const folder = await copyOfPackage(FOLDER);
  await changeManifest(folder, (manifest) => {
    const { vocoder: _, ...files } = manifest["files"] as Record<string, Json>;
    return { ...manifest, files };
  });
  await assert.rejects(
    load(folder),
    brokenModel(/acoustic\.onnx: outputs must contain wav, wav_lengths, found mel/),
  );
});

for (const [change, message] of [
  [{ temperature: -1 }, /temperature must be at least 0/],
  [{ lengthScale: 0 }, /lengthScale must be more than 0/],
  [{ addsBlanks: "yes" }, /addsBlanks must be true or false/],
  [{ melBins: 100 }, /dimension 1 of mel must be 100, found 80/],
] as const) {
  test(`a manifest with ${JSON.stringify(change)} is rejected`, async () => {
    const folder = await copyOfPackage(FOLDER);
    await changeManifest(folder, (manifest) => ({ ...manifest, ...change }));
    await assert.rejects(load(folder), brokenModel(message));
  });
}
