import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { ServiceError } from "../../../core/domain/errors.js";
import type { SynthesisJob } from "../../../core/ports/synthesizer.js";
import { readPackage } from "../../../native/models/find-packages.js";
import type { PiperConfig, VitsContents, VitsManifest } from "../../../native/models/vits/manifest.js";
import { encodeCharacters, encodePhonemes } from "../../../native/models/vits/phoneme-ids.js";
import { Vits } from "../../../native/models/vits/vits.js";
import { wordBounds } from "../../../native/models/vits/word-bounds.js";
import { NEEDS_ESPEAK } from "../../support/espeak.js";
import { changeManifest, copyOfPackage, type Json } from "../../support/folders.js";
import { type GivenPiece, speakPiece } from "../../support/speak-piece.js";

const FOLDER = "test/fixtures/adapters/tiny-vits";
const HOP = 64;
const JOB: SynthesisJob = {
  modelId: "tiny-vits",
  voice: "first",
  spokenText: "sal em",
  speed: 1,
  nfe: 8,
  seed: 1,
};
const CONFIG = JSON.parse(await readFile(join(FOLDER, "voice.onnx.json"), "utf8")) as PiperConfig;
/** The model reads letters instead of phonemes, so that no program is needed. */
const LETTERS = { ...CONFIG, phoneme_type: "text" };

/** Returns the tiny package with other files and fields. */
async function packageWith({
  files = {},
  ...fields
}: Json & { files?: Record<string, unknown> }): Promise<string> {
  const folder = await copyOfPackage(FOLDER);
  const named: Record<string, unknown> = {};
  for (const [name, content] of Object.entries(files)) {
    const path = typeof content === "string" ? content : `${name}.json`;
    if (typeof content !== "string") await writeFile(join(folder, path), JSON.stringify(content));
    const sha256 = createHash("sha256")
      .update(await readFile(join(folder, path)))
      .digest("hex");
    named[name] = { path, sha256 };
  }
  await changeManifest(folder, (manifest) => ({
    ...manifest,
    ...fields,
    files: { ...(named["symbols"] || named["encoder"] ? {} : (manifest["files"] as Json)), ...named },
  }));
  return folder;
}

async function load(folder: string): Promise<Vits> {
  return Vits.load(await readPackage<VitsManifest, VitsContents>(folder, "synthesis"), { intraOpThreads: 1 });
}

/** Speaks one piece after another with the same package. */
async function spoken(
  change: Parameters<typeof packageWith>[0],
  ...jobs: readonly Partial<SynthesisJob>[]
): Promise<GivenPiece[]> {
  const model = await load(await packageWith({ ...change, files: { config: LETTERS, ...change.files } }));
  const pieces: GivenPiece[] = [];
  for (const job of jobs) pieces.push(await speakPiece(model, { ...JOB, ...job }));
  await model.release();
  return pieces;
}

function brokenModel(pattern: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ServiceError, String(error));
    assert.equal(error.code, "MODEL_BROKEN");
    assert.match(error.message, pattern);
    return true;
  };
}

test("known phonemes become Piper's IDs, with padding between them", () => {
  // The voice's own map says ^ 1, _ 0, $ 2, space 3.
  const { ids, unknown } = encodePhonemes([..."sælˈem, ælˈem漢!"], CONFIG.phoneme_id_map);
  assert.deepEqual([...ids].map(Number), [
    ...[1, 0, 31, 0, 39, 0, 24, 0, 120, 0, 18, 0, 25, 0, 8, 0, 3, 0],
    ...[39, 0, 24, 0, 120, 0, 18, 0, 25, 0, 4, 0, 2],
  ]);
  assert.equal(unknown, 1);
  const russian = encodePhonemes([..."prʲivʲˈet; mʲˈir."], CONFIG.phoneme_id_map);
  assert.deepEqual([...russian.ids].map(Number), [
    ...[1, 0, 28, 0, 30, 0, 119, 0, 21, 0, 34, 0, 119, 0, 120, 0, 18, 0, 32, 0, 12, 0, 3, 0],
    ...[25, 0, 119, 0, 120, 0, 21, 0, 30, 0, 10, 0, 2],
  ]);
});

test("characters have blanks between and around them, unless the weights have none", () => {
  const idOf = { а: 5, б: 6 };
  assert.deepEqual([...encodeCharacters([..."аxб"], idOf, { blank: 0 }).ids].map(Number), [0, 5, 0, 6, 0]);
  assert.deepEqual([...encodeCharacters([..."аб"], idOf, { blank: null }).ids].map(Number), [5, 6]);
});

test("a piece's length follows its phonemes, speed, length scale and voice", async () => {
  const [usual, again, slow, other, second] = await spoken(
    {},
    ...[{}, {}, { speed: 0.5 }, { spokenText: "sal om" }, { voice: "second" }],
  );
  // The text has six symbols of three frames each, except the space, and eight tokens of one frame.
  assert.equal(usual!.samples.length, (5 * 3 + 1 + 1 + 6 + 2) * HOP);
  assert.deepEqual(again!.samples, usual!.samples);
  assert.equal(slow!.samples.length, 2 * usual!.samples.length);
  assert.notDeepEqual(other!.samples, usual!.samples);
  assert.notDeepEqual(second!.samples, usual!.samples);
  const [long] = await spoken({ lengthScale: 2 }, {});
  assert.equal(long!.samples.length, 2 * usual!.samples.length);
  const [config] = await spoken(
    { files: { config: { ...LETTERS, inference: { ...CONFIG.inference, length_scale: 3 } } } },
    {},
  );
  assert.equal(config!.samples.length, 3 * usual!.samples.length);
});

test("with noise scales the samples vary; a piece begins and ends at zero", async () => {
  const [one, other] = await spoken({ noiseScale: 0.667, durationNoiseScale: 0.8 }, {}, {});
  assert.notDeepEqual(one!.samples, other!.samples);
  const loudest = one!.samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
  for (const near of [...one!.samples.slice(0, 3), ...one!.samples.slice(-3)])
    assert.ok(Math.abs(near) < loudest / 10 + 1e-3, String(near));
});

test("unknown phonemes are counted; a piece that has no others has no samples", async () => {
  const model = await load(await packageWith({ files: { config: LETTERS } }));
  const plain = await speakPiece(model, JOB);
  const strange = await speakPiece(model, { ...JOB, spokenText: "s漢al em" });
  assert.deepEqual(strange.samples, plain.samples);
  assert.equal(model.unknownPhonemes, 1);
  assert.equal((await speakPiece(model, { ...JOB, spokenText: "漢字" })).samples.length, 0);
  await model.release();
});

test("windows of the decoder join to the output of one run", async () => {
  const long = { spokenText: "sal em dal kem ".repeat(20).trim() };
  const [whole] = await spoken({}, long);
  const halves = { encoder: "encoder.onnx", decoder: "decoder.onnx" };
  const [windows] = await spoken({ decoderContextFrames: 8, files: halves }, long);
  assert.equal(whole!.parts.length, 1);
  assert.ok(windows!.parts.length > 2 && windows!.parts[0] === 64 * HOP, String(windows!.parts));
  assert.equal(windows!.samples.length, whole!.samples.length);
  const farthest = whole!.samples.reduce(
    (most, sample, index) => Math.max(most, Math.abs(sample - windows!.samples[index]!)),
    0,
  );
  assert.ok(farthest < 1e-5, String(farthest));
});

test("an MMS graph accepts characters and, if it has the input, a seed", async () => {
  const symbols = { _: 0, s: 31, a: 14, l: 24, e: 18, m: 25, " ": 3 };
  const folder = await packageWith({
    noiseScale: 0.5,
    voices: [{ name: "first", index: 0 }],
    files: { model: "mms.onnx", symbols },
  });
  const model = await load(folder);
  const [one, same, other] = [
    await speakPiece(model, JOB),
    await speakPiece(model, JOB),
    await speakPiece(model, { ...JOB, seed: 2 }),
  ];
  // Each of six characters and seven blanks has two frames.
  assert.equal(one.samples.length, 13 * 2 * HOP);
  assert.deepEqual(same.samples, one.samples);
  assert.notDeepEqual(other.samples, one.samples);
  assert.equal((await speakPiece(model, { ...JOB, speed: 0.5 })).samples.length, 2 * one.samples.length);
  await model.release();
});

test("the graph's durations determine when each word is spoken", async () => {
  const [piece] = await spoken({ durations: "durations" }, {});
  // The begin mark and its padding are followed by three letters with one padding each.
  const frames = [2, 2 + 3 * 4, 2 + 3 * 4 + 2, 2 + 3 * 4 + 2 + 2 * 4].map((frame) => frame * HOP);
  const { bounds } = piece!;
  assert.equal(bounds!.length, JOB.spokenText.length + 1);
  assert.deepEqual([bounds![0], bounds![3], bounds![4], bounds![6]], frames);
  const [silent] = await spoken({}, {});
  assert.equal(silent!.bounds, null);
});

test("phonemes with a different number of words than the text have no times", () => {
  const sentence = { phonemes: [..."ab cd"], samples: Float64Array.of(0, 10, 20, 30, 40, 50) };
  assert.deepEqual([...wordBounds("ab, — cd", [sentence])!], [0, 10, 20, 20, 20, 20, 30, 40, 50]);
  assert.equal(wordBounds("ab c d", [sentence]), null);
});

test("espeak-ng reads text sentence by sentence, with silence between", NEEDS_ESPEAK, async () => {
  const model = await load(FOLDER);
  const job = { ...JOB, spokenText: "сәлем." };
  const [one, two] = [
    await speakPiece(model, job),
    await speakPiece(model, { ...job, spokenText: "сәлем. сәлем." }),
  ];
  // The symbols s æ l ˈ e m . have one padding each; the start and end marks are added.
  assert.equal(one.samples.length, (7 * 4 + 3) * HOP);
  assert.deepEqual(two.parts, [one.samples.length, 3_200, one.samples.length]);
  await model.release();
});

test("without espeak-ng a voice with phonemes is rejected with an installation hint", async () => {
  const path = process.env["PATH"];
  process.env["PATH"] = "/nowhere";
  try {
    await assert.rejects(load(FOLDER), brokenModel(/tiny-vits.*not on PATH: apt-get install espeak-ng/));
  } finally {
    process.env["PATH"] = path;
  }
});

test("a language unknown to espeak-ng is rejected with the file's name", NEEDS_ESPEAK, async () => {
  const folder = await packageWith({ files: { config: { ...CONFIG, espeak: { voice: "xx-none" } } } });
  await assert.rejects(
    load(folder),
    brokenModel(/tiny-vits\/config\.json: espeak\.voice .* found xx-none: .*voice/),
  );
});

for (const [change, message] of [
  [
    { sampleRateHz: 22_050 },
    /voice\.onnx\.json: audio\.sample_rate must be the manifest's sampleRateHz 22050, found 16000/,
  ],
  [{ voices: [{ name: "first", index: 3 }] }, /num_speakers must be more than 3 for voice first, found 3/],
  [
    {
      voices: [
        { name: "first", index: 0 },
        { name: "first", index: 1 },
      ],
    },
    /voices must have unique names/,
  ],
  [{ noiseScale: -1 }, /noiseScale must be at least 0/],
  [{ lengthScale: 0 }, /lengthScale must be more than 0/],
  [{ durations: "w_ceil", files: { config: LETTERS } }, /model\.onnx: outputs must contain w_ceil/],
  [{ files: { symbols: { a: 1 } } }, /files must list either "model" or/],
  [
    { files: { config: LETTERS, model: "mms.onnx" } },
    /mms\.onnx: inputs must contain input, input_lengths, scales/,
  ],
  [
    { files: { config: { ...LETTERS, phoneme_id_map: { _: [0], "^": [1] } } } },
    /phoneme_id_map must contain "\$"/,
  ],
  [
    { files: { config: { ...CONFIG, espeak: { voice: "../../etc" } } } },
    /espeak\.voice must be an espeak-ng voice/,
  ],
  [
    { files: { config: { ...CONFIG, phoneme_type: "pinyin" } } },
    /phoneme_type must be espeak or text, found pinyin/,
  ],
] as const) {
  test(`a package with ${JSON.stringify(change).slice(0, 60)} is rejected`, async () => {
    const folder = await packageWith(change as Parameters<typeof packageWith>[0]);
    await assert.rejects(load(folder), brokenModel(message));
  });
}
