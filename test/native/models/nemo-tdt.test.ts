import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { Tensor } from "onnxruntime-node";
import { recognizerIn } from "../../../bench/support/recognizer.js";
import { referencePcm } from "../../../bench/support/streaming-reference.js";
import type { Prediction, Predictor } from "../../../native/models/nemo-tdt/predictor.js";
import { TdtSearch } from "../../../native/models/nemo-tdt/tdt-search.js";
import { parseTokens } from "../../../native/models/tokens.js";
import { changeManifest, copyOfPackage, type Json } from "../../support/folders.js";

const FOLDER = "test/fixtures/adapters/tiny-nemo-tdt";
const PCM = referencePcm();
/** The vocabulary has the columns 0 to 2, and the blank is 3. */
const TOKENS = parseTokens("▁а 0\nб 1\nв 2\n<blk> 3");
const BLANK = 3;

/** A copy of the tiny package whose `files` are changed. */
async function packageWith(change: (files: Json) => Json): Promise<string> {
  const folder = await copyOfPackage(FOLDER);
  await changeManifest(folder, (manifest) => ({ ...manifest, files: change(manifest["files"] as Json) }));
  return folder;
}

async function jointFile(): Promise<Json> {
  const bytes = await readFile(join(FOLDER, "decoder_joint.onnx"));
  return { path: "decoder_joint.onnx", sha256: createHash("sha256").update(bytes).digest("hex") };
}

/** Returns the given tokens and durations one after another, then blanks. */
class Scripted implements Predictor {
  readonly #answers: { readonly token: number; readonly skip: number | null }[];
  readonly fed: number[] = [];
  frames: number[] = [];

  constructor(answers: readonly (readonly [token: number, skip: number | null])[]) {
    this.#answers = answers.map(([token, skip]) => ({ token, skip }));
  }

  start(blank: number): Promise<Prediction> {
    return this.next(blank);
  }

  score(frame: Tensor): Promise<{ logits: Float32Array; states: readonly Tensor[] }> {
    this.frames.push((frame.data as Float32Array)[0]!);
    const { token, skip } = this.#answers.shift() ?? { token: BLANK, skip: 4 };
    const logits = new Float32Array(skip === null ? 4 : 9);
    logits[token] = 10;
    if (skip !== null) logits[4 + skip] = 10;
    return Promise.resolve({ logits, states: [] });
  }

  next(token: number): Promise<Prediction> {
    this.fed.push(token);
    return Promise.resolve({ token, states: [], decoded: null });
  }

  release(): Promise<void> {
    return Promise.resolve();
  }
}

/** The best output of each row of an utterance of numbered frames. */
async function bestRows(predictor: Scripted, frames: number): Promise<string> {
  const search = new TdtSearch(predictor, TOKENS, 1, "joiner.onnx");
  const rows = await search.search(Float32Array.from({ length: frames }, (_, frame) => frame));
  const best = Array.from({ length: rows.length / 4 }, (_, row) => {
    const scores = [...rows.subarray(4 * row, 4 * row + 4)];
    return "абв-"[scores.indexOf(Math.max(...scores))];
  });
  return best.join("");
}

test("durations say which frame is read next, and how long a token lasts", async () => {
  const predictor = new Scripted([
    [0, 2],
    [BLANK, 1],
    [1, 1],
  ]);
  assert.equal(await bestRows(predictor, 6), "ааа---б-----");
  assert.deepEqual(predictor.frames, [0, 2, 3, 4]);
  assert.deepEqual(predictor.fed, [BLANK, 0, 1]);
});

test("tokens of one frame follow each other, and equal ones stay apart", async () => {
  assert.equal(
    await bestRows(
      new Scripted([
        [0, 0],
        [1, 0],
        [1, 1],
      ]),
      3,
    ),
    "аб-б--",
  );
});

test("a frame ends after five tokens, and after a blank that skips nothing", async () => {
  const endless = new Scripted(Array.from({ length: 12 }, (_, i) => [i % 2, 0] as const));
  await bestRows(endless, 3);
  assert.deepEqual(endless.frames.slice(0, 12), [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2]);
  const still = new Scripted(Array.from({ length: 3 }, () => [BLANK, 0] as const));
  await bestRows(still, 3);
  assert.deepEqual(still.frames, [0, 1, 2]);
});

test("a joiner without durations reads each frame until its blank", async () => {
  const plain = new Scripted([
    [0, null],
    [1, null],
    [BLANK, null],
    [2, null],
    [BLANK, null],
    [BLANK, null],
  ]);
  assert.equal(await bestRows(plain, 3), "абв---");
  assert.deepEqual(plain.frames, [0, 0, 0, 1, 1, 2]);
});

test("decoder and joiner in one graph give the same rows as two", async () => {
  const joint = await jointFile();
  const folder = await packageWith(({ decoder: _, joiner: __, ...files }) => ({
    ...files,
    decoderJoint: joint,
  }));
  const [two, one] = [await recognizerIn(FOLDER), await recognizerIn(folder)];
  const expected = await two.model.decodeUtterance(PCM);
  assert.deepEqual(await one.model.decodeUtterance(PCM), expected);
  assert.ok(expected.frames === 300, String(expected.frames));
  for (const { model } of [two, one]) await model.release();
});

test("words have times and confidences", async () => {
  const { model, utterances } = await recognizerIn(FOLDER);
  const { words } = await utterances.decode(PCM, { offsetSeconds: 0, speechMean: 1, hotWords: null });
  assert.ok(words.length > 5);
  for (const [i, { start, end, confidence }] of words.entries()) {
    assert.ok(start < end && start >= (words[i - 1]?.end ?? 0) && confidence > 0, `word ${i}`);
  }
  await model.release();
});

test("a package names both graphs or one of both", async () => {
  const joint = await jointFile();
  for (const change of [
    (files: Json) => ({ ...files, decoderJoint: joint }),
    ({ joiner: _, ...files }: Json) => files,
  ]) {
    await assert.rejects(
      packageWith(change).then((folder) => recognizerIn(folder)),
      /files must list either "decoder" and "joiner" or "decoderJoint" for nemo-tdt/,
    );
  }
});
