import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { roundedTo16Bits, toFloat } from "../../../core/domain/audio/pcm.js";
import { resample } from "../../../core/domain/audio/resample.js";
import { bestToken } from "../../../core/domain/decoding/greedy.js";
import { ServiceError } from "../../../core/domain/errors.js";
import { recognizerFamilyOf } from "../../../native/models/families.js";
import { readPackage } from "../../../native/models/find-packages.js";
import type { RecognizerManifest } from "../../../native/models/manifest.js";
import type { RecognizerModel } from "../../../native/models/recognizer.js";
import { copyState } from "../../../native/models/state-rows.js";
import { copySpan } from "../../../native/models/utterance-reader.js";
import { speech } from "../../support/audio.js";
import { changeManifest, copyOfPackage, type Json } from "../../support/folders.js";
import { TINY_RECOGNIZERS } from "../../support/tiny-packages.js";

const FOLDER = "test/fixtures/adapters/";
const STEP_SAMPLES = 640;

async function load(folder: string): Promise<RecognizerModel> {
  const model = await readPackage<RecognizerManifest>(folder, "transcription");
  return recognizerFamilyOf(model.manifest).load(model, { intraOpThreads: 1 });
}

/** Two seconds of changing sound, which is louder in the second half. */
function signal(seconds = 2): Float32Array {
  return Float32Array.from({ length: seconds * 16_000 }, (_, i) => {
    return (i < 16_000 ? 0.05 : 0.3) * Math.sin(i * i * 2e-6 + 3 * Math.sin(i / 4_000));
  });
}

/**
 * Returns the probabilities of speech, and whether all rows are blanks. The state is carried from step to
 * step.
 */
async function stepThrough(
  model: RecognizerModel,
  pcm: Float32Array,
  frames: number,
): Promise<{ isBlank: boolean; speech: number[] }> {
  const batch = model.stepBatch(1, frames);
  const speech: number[] = [];
  let isBlank = true;
  const width = model.vocabulary.length;
  for (let start = 0; start + frames * STEP_SAMPLES <= pcm.length; start += frames * STEP_SAMPLES) {
    batch.pcm.set(pcm.subarray(start, start + frames * STEP_SAMPLES));
    await batch.run();
    copyState(batch.nextState, batch.state);
    speech.push(...batch.speech);
    isBlank &&= batch.logProbs.every((logProb, i) => (i % width === 0 ? logProb === 0 : logProb < -20));
  }
  return { isBlank, speech };
}

function assertLogProbs(row: Float32Array): void {
  const sum = row.reduce((total, logProb) => total + Math.exp(logProb), 0);
  assert.ok(Math.abs(sum - 1) < 1e-4, `probabilities add up to ${sum}`);
}

function brokenModel(pattern: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ServiceError, String(error));
    assert.equal(error.code, "MODEL_BROKEN");
    assert.match(error.message, pattern);
    return true;
  };
}

/** Replaces the bytes of a package's file, with a matching hash. */
async function replaceFile(folder: string, name: string, bytes: Uint8Array): Promise<void> {
  await changeManifest(folder, (manifest) => {
    const files = manifest["files"] as Record<string, { path: string; sha256: string }>;
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return { ...manifest, files: { ...files, [name]: { path: `${name}.bin`, sha256 } } };
  });
  await writeFile(join(folder, `${name}.bin`), bytes);
}

for (const { id, streams, hasMel, graph, isSearched } of TINY_RECOGNIZERS) {
  test(`${id} reads a whole utterance and returns a row for each of its frames`, async () => {
    const model = await load(FOLDER + id);
    const pcm = signal();
    const { logProbs, frames } = await model.decodeUtterance(pcm);
    const width = model.vocabulary.length;
    assert.equal(logProbs.length, frames * width);
    // The last frame may lack a whole window. Heads that stream fill a chunk after at most 0.3 s more.
    const exact = pcm.length / model.outputFrameSamples;
    const more = streams ? (9_600 + 640 * 8) / model.outputFrameSamples : 1;
    // Convolutions at the start of an encoder may use up two frames of a transducer, with two rows each.
    const fewer = isSearched ? 4 : 1;
    assert.ok(frames >= exact - fewer && frames <= exact + more, `${frames} frames`);
    for (let frame = 0; frame < frames; frame++) {
      if (!isSearched) assertLogProbs(logProbs.subarray(frame * width, (frame + 1) * width));
    }
    const bestOf = (frame: number) =>
      Math.max(...logProbs.subarray(frame * width, (frame + 1) * width)).toFixed(3);
    const spread = new Set(Array.from({ length: frames }, (_, frame) => bestOf(frame)));
    assert.ok(spread.size > frames / (isSearched ? 4 : 2), "rows follow the audio");
    await model.release();
  });

  test(`${id} accepts an empty utterance and one shorter than a frame`, async () => {
    const model = await load(FOLDER + id);
    for (const samples of [0, 1, 100, 700]) {
      const { logProbs, frames } = await model.decodeUtterance(signal().subarray(0, samples));
      assert.equal(logProbs.length, frames * model.vocabulary.length);
      assert.ok(logProbs.every(Number.isFinite));
    }
    await model.release();
  });

  test(`${id} detects speech in loud audio, regardless of chunking`, async () => {
    const model = await load(FOLDER + id);
    const pcm = new Float32Array(3 * 16_000);
    pcm.set(signal().subarray(16_000), 16_000);
    const single = await stepThrough(model, pcm, 1);
    const many = await stepThrough(model, pcm, 15);
    assert.deepEqual(many.speech, single.speech);
    assert.ok(many.isBlank && single.isBlank, "text comes from elsewhere");
    assert.ok(single.speech.slice(3, 23).every((probability) => probability < 0.1));
    assert.ok(single.speech.slice(28, 48).every((probability) => probability > 0.9));
    await model.release();
  });

  test(`${id} keeps the streams of a batch apart`, async () => {
    const model = await load(FOLDER + id);
    const pcm = signal().subarray(0, 20 * STEP_SAMPLES);
    const { speech } = await stepThrough(model, pcm, 20);
    const batch = model.stepBatch(2, 20);
    batch.pcm.set(pcm, pcm.length);
    await batch.run();
    assert.deepEqual([...batch.speech.subarray(20)], speech);
    await model.release();
  });

  for (const file of [graph, "vad"]) {
    test(`${id} with another graph as its ${file} is rejected with file and tensors`, async () => {
      const folder = await copyOfPackage(FOLDER + id);
      const other = file === "vad" ? `${graph}.onnx` : "vad.onnx";
      await replaceFile(folder, file, await readFile(join(folder, other)));
      await assert.rejects(load(folder), brokenModel(new RegExp(`${id}/${file}\\.bin: inputs must contain`)));
    });
  }

  test(`${id} with another number of tokens is rejected with file and tensor`, async () => {
    const folder = await copyOfPackage(FOLDER + id);
    await replaceFile(folder, "vocabulary", Buffer.from("<blk> 0\nа 1\n"));
    await assert.rejects(
      load(folder),
      brokenModel(
        new RegExp(`${id}/(model|joiner)\\.onnx: dimension -?\\d of \\w+ must be 2( to 10)?, found \\d+`),
      ),
    );
  });

  test(`${id} with damaged tokens is rejected with the line`, async () => {
    const folder = await copyOfPackage(FOLDER + id);
    await replaceFile(folder, "vocabulary", Buffer.from("<blk> 0\nа one\n"));
    await assert.rejects(
      load(folder),
      brokenModel(/vocabulary\.bin: line 2 must be a symbol and its number/),
    );
  });

  if (!hasMel) continue;
  test(`${id} with another count of mel bins is rejected with file and tensor`, async () => {
    const folder = await copyOfPackage(FOLDER + id);
    await changeManifest(folder, (manifest) => ({ ...manifest, melBins: 96 }));
    await assert.rejects(
      load(folder),
      brokenModel(/(model|encoder)\.onnx: dimension \d of \w+ must be 96, found \d+/),
    );
  });
}

for (const { id, hasShape } of TINY_RECOGNIZERS.filter(({ streams }) => streams)) {
  test(`${id} reads an utterance while it is spoken with the same result as when it reads the whole`, async () => {
    const model = await load(FOLDER + id);
    const reader = model.reader!;
    const pcms = [4, 3.1, 2.3].map((seconds, i) => signal(4).subarray(i * 500, seconds * 16_000));
    const wholes = [];
    for (const pcm of pcms) wholes.push(await model.decodeUtterance(pcm));
    const readings = pcms.map(() => reader.begin());
    // The utterances are read in turns, as a worker reads its sessions.
    for (let isReading = true; isReading; ) {
      isReading = false;
      for (const [i, reading] of readings.entries()) {
        const span = reader.next(reading);
        if (span.end > pcms[i]!.length) continue;
        await reader.read(reading, copySpan(pcms[i]!, span));
        isReading = true;
      }
    }
    const width = model.vocabulary.length;
    for (const [i, { rows, rowCount }] of readings.entries()) {
      assert.ok(rowCount >= 0.6 * wholes[i]!.frames, `${rowCount} of ${wholes[i]!.frames} rows`);
      assert.deepEqual(rows.slice(0, rowCount * width), wholes[i]!.logProbs.slice(0, rowCount * width));
    }
    assert.deepEqual(await model.refine(pcms, readings), wholes);
    await model.release();
  });

  test(`${id} passes its caches from chunk to chunk`, async () => {
    const model = await load(FOLDER + id);
    const pcm = signal();
    const before = Float32Array.from(pcm).fill(0, 0, 3_200);
    const a = await model.decodeUtterance(pcm);
    const b = await model.decodeUtterance(before);
    const half = a.logProbs.length / 2;
    assert.notDeepEqual(a.logProbs.slice(half), b.logProbs.slice(half), "the end remembers the beginning");
    await model.release();
  });

  if (!hasShape) continue;
  test(`${id} with a shift that the graph does not have is rejected with file and tensor`, async () => {
    const folder = await copyOfPackage(FOLDER + id);
    await changeManifest(folder, (manifest) => ({ ...manifest, shiftFrames: 8 }));
    await assert.rejects(
      load(folder),
      brokenModel(/model\.onnx: log_?probs must have \d+ .* found float32 \[1, /),
    );
  });
}

test("the second pass of a live session equals that of a file, regardless of the flush's silence", async () => {
  const model = await load(`${FOLDER}tiny-nemo-ctc`);
  const pcm = signal().subarray(0, 40 * STEP_SAMPLES - 17);
  const expected = await model.decodeUtterance(pcm);
  const encoded = new Float32Array(42 * STEP_SAMPLES);
  encoded.set(pcm);
  assert.deepEqual(await model.refine([encoded, encoded]), [expected, expected]);
  await model.release();
});

for (const id of ["tiny-gigaam-ctc", "tiny-nemo-ctc"]) {
  test(`${id} gives batched utterances the rows they get alone, with any padding`, async () => {
    const model = await load(FOLDER + id);
    const pcms = [2, 1.3, 0.7].map((seconds) => signal().subarray(0, seconds * 16_000));
    const together = await model.decodeSoFar!(pcms);
    for (const [i, pcm] of pcms.entries()) {
      const alone = await model.decodeUtterance(pcm);
      assert.equal(together[i]!.frames, alone.frames);
      const width = model.vocabulary.length;
      for (let row = 0; row < alone.frames - 2; row++) {
        assert.equal(
          bestToken(together[i]!.logProbs, row * width, width),
          bestToken(alone.logProbs, row * width, width),
          `row ${row} of utterance ${i}`,
        );
      }
    }
    await model.release();
  });

  test(`${id} reads an utterance that is longer than a pass like a shorter one`, async () => {
    const seconds = 23;
    const pcm = signal(seconds);
    const whole = await load(FOLDER + id);
    const expected = await whole.decodeUtterance(pcm);
    await whole.release();
    const folder = await copyOfPackage(FOLDER + id);
    await changeManifest(folder, (manifest) => ({ ...manifest, longestSeconds: 10, normalize: "none" }));
    const model = await load(folder);
    const { logProbs, frames } = await model.decodeUtterance(pcm);
    assert.equal(frames, expected.frames);
    const width = model.vocabulary.length;
    const bestOf = (rows: Float32Array) =>
      Array.from({ length: frames }, (_, row) => bestToken(rows, row * width, width));
    // Features that are normalized over an utterance depend on its length.
    if (id === "tiny-gigaam-ctc") assert.deepEqual(bestOf(logProbs), bestOf(expected.logProbs));
    await model.release();
  });
}

test("masked symbols are never output", async () => {
  const folder = await copyOfPackage(`${FOLDER}tiny-gigaam-ctc`);
  const all = await load(folder);
  const { logProbs, frames } = await all.decodeUtterance(signal());
  const width = all.vocabulary.length;
  const best = Array.from(
    { length: frames },
    (_, row) => all.vocabulary[bestToken(logProbs, row * width, width)]!,
  );
  const [masked] = best.filter((symbol) => symbol.trim() !== "");
  await all.release();
  await changeManifest(folder, (manifest) => ({ ...manifest, maskedOutputs: [masked] }));
  const model = await load(folder);
  assert.equal(model.vocabulary.includes(masked!), false);
  assert.equal(model.vocabulary.length, width - 1);
  const without = await model.decodeUtterance(signal());
  for (let row = 0; row < frames; row++) {
    assertLogProbs(without.logProbs.subarray(row * (width - 1), (row + 1) * (width - 1)));
  }
  await model.release();
});

test("GigaAM gets samples rounded to 16 bits", async () => {
  const model = await load(`${FOLDER}tiny-gigaam-ctc`);
  // Telephone audio resampled in floats has nothing at all above 4 kHz.
  const pcm = resample(toFloat(speech("asterisk-ru-core/digits_19.flac", 8_000)), {
    fromHz: 8_000,
    toHz: 16_000,
  });
  const rounded = roundedTo16Bits(pcm);
  assert.notDeepEqual(rounded, pcm);
  assert.deepEqual(await model.decodeUtterance(pcm), await model.decodeUtterance(rounded));
  await model.release();
});

test("features may come from a graph of the package", async () => {
  const folder = await copyOfPackage(`${FOLDER}tiny-nemo-ctc`);
  const ours = await load(folder);
  const expected = await ours.decodeUtterance(signal());
  await ours.release();
  await replaceFile(folder, "preprocessor", await readFile(join(folder, "preprocessor.onnx")));
  const model = await load(folder);
  const { logProbs, frames } = await model.decodeUtterance(signal());
  assert.equal(frames, expected.frames);
  assert.notDeepEqual(logProbs, expected.logProbs);
  await model.release();
});

const WRONG: readonly [string, Json, RegExp][] = [
  ["tiny-gigaam-ctc", { frontEnd: "mfcc" }, /frontEnd must be one of gigaam-v2, gigaam-v3, found mfcc/],
  ["tiny-gigaam-ctc", { sampleRateHz: 8_000 }, /sampleRateHz must be 16000 for gigaam-ctc, found 8000/],
  ["tiny-gigaam-ctc", { files: {} }, /files must list "model" for gigaam-ctc/],
  ["tiny-gigaam-ctc", { longestSeconds: 3 }, /longestSeconds must be at least 10, found 3/],
  ["tiny-gigaam-ctc", { maskedOutputs: "a" }, /maskedOutputs must be a list of symbols/],
  [
    "tiny-gigaam-ctc",
    { maskedOutputs: ["q"] },
    /tokens\.txt: maskedOutputs must be symbols of the vocabulary.*found "q"/,
  ],
  [
    "tiny-nemo-ctc",
    { windows: { strideSeconds: 2.4, overlapSeconds: 0.1 } },
    /windows\.overlapSeconds must be a number from 0\.8 to 30, found 0\.1/,
  ],
  ["tiny-gigaam-ctc", { windows: 4 }, /windows must have strideSeconds and overlapSeconds/],
  ["tiny-nemo-ctc", { subsampling: 6 }, /subsampling must be a multiple of 4, found 6/],
  ["tiny-nemo-ctc", { normalize: "all" }, /normalize must be one of per-feature, none, found all/],
  [
    "tiny-zipformer2-ctc",
    { shiftFrames: 30 },
    /shiftFrames must be a multiple of 4 and at most windowFrames/,
  ],
  [
    "tiny-nemo-streaming-ctc",
    { cacheLastTime: [2, 6] },
    /cacheLastTime must be 3 whole numbers .*found \[2,6\]/,
  ],
];
for (const [id, change, message] of WRONG) {
  test(`a manifest of ${id} with ${JSON.stringify(change)} is rejected`, async () => {
    const folder = await copyOfPackage(FOLDER + id);
    await changeManifest(folder, (manifest) => ({ ...manifest, ...change }));
    await assert.rejects(load(folder), brokenModel(message));
  });
}

test("caches whose shape differs from the manifest are rejected with the tensor", async () => {
  const folder = await copyOfPackage(`${FOLDER}tiny-nemo-streaming-ctc`);
  await changeManifest(folder, (manifest) => ({ ...manifest, cacheLastChannel: [2, 5, 6] }));
  await assert.rejects(load(folder), brokenModel(/dimension 2 of cache_last_channel must be 5, found 4/));
});
