import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { ServiceError } from "../../../core/domain/errors.js";
import type { CtcTwoPassContents } from "../../../native/models/ctc-two-pass/manifest.js";
import { findPackages, readManifest, readPackage } from "../../../native/models/find-packages.js";
import type { RecognizerManifest } from "../../../native/models/manifest.js";
import { graphFile, type PackageFolder, readPackageFile } from "../../../native/models/package.js";
import { packageFiles } from "../../../native/models/package-files.js";
import { type Json, RECOGNIZER_FOLDER, SYNTHESIZER_FOLDER, temporaryFolder } from "../../support/folders.js";

const SHA256 = "0".repeat(64);
const DECODING = { beamWidth: 12, languageModelWeight: 0.5, characterBonus: 0.8, wordBonus: 0 };
const RECOGNIZER: Json = {
  id: "ears",
  task: "transcription",
  family: "ctc-two-pass",
  interfaceVersion: 1,
  languages: ["kk"],
  sampleRateHz: 16_000,
  frameSamples: 640,
  contextFrames: 75,
  flushSamples: 5_120,
  decoding: DECODING,
  files: { stream: { path: "stream.onnx", sha256: SHA256 } },
};
const SYNTHESIZER: Json = {
  id: "mouth",
  task: "synthesis",
  family: "flow-matching",
  interfaceVersion: 1,
  languages: ["kk"],
  sampleRateHz: 24_000,
  hopSamples: 256,
  melBins: 80,
  defaultVoice: "aigul",
  voices: [{ name: "aigul", index: 0, gender: null, style: null, best_for: null }],
  files: {},
};

/** Creates a folder with this manifest. A string is written unchanged. */
async function folderWith(manifest: Json | string): Promise<string> {
  const folder = await temporaryFolder();
  await writeFile(
    join(folder, "manifest.json"),
    typeof manifest === "string" ? manifest : JSON.stringify(manifest),
  );
  return folder;
}

function brokenModel(pattern: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ServiceError);
    assert.equal(error.code, "MODEL_BROKEN");
    assert.match(error.message, pattern);
    return true;
  };
}

async function packageWith(files: Json): Promise<PackageFolder> {
  const folder = await folderWith({ ...RECOGNIZER, files });
  return { folder, manifest: (await readManifest(folder))! };
}

for (const manifest of [RECOGNIZER, SYNTHESIZER]) {
  test(`a complete manifest of ${String(manifest["family"])} is read as it stands`, async () => {
    assert.deepEqual(await readManifest(await folderWith(manifest)), manifest);
  });
}

const RULES: readonly (readonly [name: string, manifest: Json | string, message: RegExp])[] = [
  ["is no JSON", "{", /manifest\.json: .*JSON/],
  ["is no object", "null", /manifest\.json: /],
  ["has no id", { ...RECOGNIZER, id: "" }, /id must be a string/],
  [
    "has no sample rate",
    { ...RECOGNIZER, sampleRateHz: "16000" },
    /sampleRateHz must be a number, found 16000/,
  ],
  ["speaks another interface", { ...RECOGNIZER, interfaceVersion: 2 }, /interfaceVersion must be 1, found 2/],
  ["is of no known family", { ...RECOGNIZER, family: "rnn" }, /family must be one of .*found rnn/],
  ["has no frame", without(RECOGNIZER, "frameSamples"), /frameSamples must be a number, found undefined/],
  ["has no context", without(RECOGNIZER, "contextFrames"), /contextFrames must be a number/],
  ["has no flush", without(RECOGNIZER, "flushSamples"), /flushSamples must be a number/],
  ["has no decoding", without(RECOGNIZER, "decoding"), /beamWidth must be a number/],
  [
    "wants evidence that is no number",
    { ...RECOGNIZER, decoding: { ...DECODING, evidencePerCharacter: "1" } },
    /evidencePerCharacter must be a number/,
  ],
  [
    "takes out priors that it does not have",
    { ...RECOGNIZER, decoding: { ...DECODING, priorWeight: 0.5 } },
    /priorWeight needs a file priors/,
  ],
  [
    "doubts by half a rule",
    { ...RECOGNIZER, decoding: { ...DECODING, doubt: { below: 0.7 } } },
    /evidence must be a number/,
  ],
  [
    "has half a decoding",
    { ...RECOGNIZER, decoding: { beamWidth: 12 } },
    /languageModelWeight must be a number/,
  ],
  ["has no hop", without(SYNTHESIZER, "hopSamples"), /hopSamples must be a number/],
  ["has no mel bins", { ...SYNTHESIZER, melBins: null }, /melBins must be a number, found null/],
  ["has no voices", { ...SYNTHESIZER, voices: [] }, /voices must be a non-empty list/],
  ["has no list of voices", { ...SYNTHESIZER, voices: { aigul: 0 } }, /voices must be a non-empty list/],
  ["has no default voice", without(SYNTHESIZER, "defaultVoice"), /defaultVoice must be a string/],
  [
    "has a default voice of its own",
    { ...SYNTHESIZER, defaultVoice: "nobody" },
    /defaultVoice must be one of the voices, found nobody/,
  ],
  ["names a file above the package", withFile({ path: "../x.onnx", sha256: SHA256 }), /files\.stream\.path/],
  ["names a file of the machine", withFile({ path: "/etc/hostname", sha256: SHA256 }), /files\.stream\.path/],
  ["names a file without a path", withFile({ sha256: SHA256 }), /files\.stream\.path/],
  ["names a file without a hash", withFile({ path: "a.onnx" }), /files\.stream\.sha256 must be 64/],
  ["names a file with half a hash", withFile({ path: "a.onnx", sha256: "ab" }), /files\.stream\.sha256/],
  ["names nothing as a file", withFile(null), /files\.stream\.path/],
  [
    "has a graph with weights in no file of it",
    withFile({ path: "a.onnx", sha256: SHA256, external: ["data"] }),
    /files\.stream\.external must be file names, found data/,
  ],
  [
    "has a graph with weights in one file",
    withFile({ path: "a.onnx", sha256: SHA256, external: "data" }),
    /files\.stream\.external must be a list of file names/,
  ],
  [
    "has a graph with weights in another folder",
    {
      ...RECOGNIZER,
      files: {
        stream: { path: "graphs/a.onnx", sha256: SHA256, external: ["data"] },
        data: { path: "a.onnx.data", sha256: SHA256 },
      },
    },
    /files\.stream\.external must be in the folder of graphs\/a\.onnx or below it, found a\.onnx\.data/,
  ],
  [
    "has a variant for GPUs without a hash",
    withFile({ path: "a.onnx", sha256: SHA256, gpu: { path: "a.gpu.onnx" } }),
    /files\.stream\.gpu\.sha256 must be 64 hexadecimal digits/,
  ],
  [
    "has a variant for GPUs with weights in no file of it",
    withFile({ path: "a.onnx", sha256: SHA256, gpu: { path: "b.onnx", sha256: SHA256, external: ["data"] } }),
    /files\.stream\.gpu\.external must be file names, found data/,
  ],
];
for (const [name, manifest, message] of RULES) {
  test(`a manifest that ${name} is rejected with its path and the rule`, async () => {
    const folder = await folderWith(manifest);
    await assert.rejects(readManifest(folder), brokenModel(message));
    await assert.rejects(readManifest(folder), brokenModel(new RegExp(folder)));
  });
}

test("a folder without a manifest is not a package", async () => {
  assert.equal(await readManifest(await temporaryFolder()), null);
});

test("an unreadable manifest does not count as missing", async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, "manifest.json"));
  await assert.rejects(readManifest(folder), brokenModel(/Cannot read .*manifest\.json/));
});

test("a package's file is read if its hash matches", async () => {
  const content = Buffer.from("weights");
  const sha256 = createHash("sha256").update(content).digest("hex");
  const model = await packageWith({ stream: { path: "stream.onnx", sha256 } });
  await writeFile(join(model.folder, "stream.onnx"), content);
  assert.deepEqual(Buffer.from(await readPackageFile(model, "stream")), content);
});

test("a file with a wrong hash is rejected with its path and both hashes", async () => {
  const model = await packageWith({ stream: { path: "stream.onnx", sha256: SHA256 } });
  await writeFile(join(model.folder, "stream.onnx"), "other weights");
  const found = createHash("sha256").update("other weights").digest("hex");
  await assert.rejects(
    readPackageFile(model, "stream"),
    brokenModel(new RegExp(`sha256 of .*stream\\.onnx must be ${SHA256}, found ${found}`)),
  );
});

test("a missing file is reported with its path", async () => {
  const model = await packageWith({ stream: { path: "stream.onnx", sha256: SHA256 } });
  await assert.rejects(readPackageFile(model, "stream"), brokenModel(/ears: .*stream\.onnx cannot be read/));
});

test("an unlisted file is rejected with its name", async () => {
  const model = await packageWith({});
  await assert.rejects(
    readPackageFile(model, "full"),
    brokenModel(/its manifest does not list a file "full"/),
  );
});

/** Returns the parsed contents of a recogniser whose alphabet is blank, а and б, with these priors. */
async function contentsWith(priors: string): Promise<CtcTwoPassContents> {
  const contents = { vocabulary: JSON.stringify(["", "а", "б"]), priors };
  const files: Record<string, Json> = {};
  for (const [name, content] of Object.entries(contents)) {
    files[name] = {
      path: `${name}.json`,
      sha256: createHash("sha256").update(content).digest("hex"),
    };
  }
  const folder = await folderWith({ ...RECOGNIZER, files, decoding: { ...DECODING, priorWeight: 1 } });
  for (const [name, content] of Object.entries(contents)) {
    await writeFile(join(folder, `${name}.json`), content);
  }
  return (await readPackage<RecognizerManifest, CtcTwoPassContents>(folder, "transcription")).contents;
}

test("priors are read with their outputs", async () => {
  assert.deepEqual(await contentsWith("[0, 0.25, 0.75]"), {
    vocabulary: ["", "а", "б"],
    priors: [0, 0.25, 0.75],
  });
});

test("priors that are not one number per output are rejected", async () => {
  for (const content of ["[0, 1]", "[0, 0.5, -0.5]", '[0, "0.5", 0.5]', "{}"]) {
    await assert.rejects(
      contentsWith(content),
      brokenModel(/ears\/priors\.json: priors must be 3 numbers of 0 or more/),
    );
  }
});

test("packages are found by their manifests, sorted by ID", async () => {
  const models = await temporaryFolder();
  for (const [name, manifest] of [
    ["a", SYNTHESIZER],
    ["b", RECOGNIZER],
  ] as const) {
    await mkdir(join(models, name));
    await writeFile(join(models, name, "manifest.json"), JSON.stringify(manifest));
  }
  await mkdir(join(models, "recipes"));
  await writeFile(join(models, "README.md"), "no package");
  const packages = await findPackages(models);
  assert.deepEqual(
    packages.map(({ folder, manifest }) => [folder, manifest.id]),
    [
      [join(models, "b"), "ears"],
      [join(models, "a"), "mouth"],
    ],
  );
});

test("one broken package fails the whole folder with its path", async () => {
  const models = await temporaryFolder();
  await mkdir(join(models, "bad"));
  await writeFile(join(models, "bad", "manifest.json"), "{}");
  await assert.rejects(findPackages(models), brokenModel(/bad\/manifest\.json: id must be a string/));
});

test("the shipped packages are complete", async () => {
  const packages = await findPackages("models");
  assert.deepEqual(
    packages.map(({ folder }) => folder),
    ["models/punctuation-v1", RECOGNIZER_FOLDER, SYNTHESIZER_FOLDER],
  );
  for (const model of packages) {
    for (const name of Object.keys(model.manifest.files)) await readPackageFile(model, name);
  }
});

test("on other devices than the CPU, a graph's GPU variant is used if there is one", async () => {
  const gpu = { path: "stream.gpu.onnx", sha256: "1".repeat(64), external: ["stream"] };
  const stream = { path: "stream.onnx", sha256: SHA256 };
  const full = { path: "full.onnx", sha256: SHA256 };
  const model = await packageWith({ stream: { ...stream, gpu }, full });
  for (const provider of ["cuda", "webgpu", "coreml", "dml"]) {
    assert.deepEqual(graphFile(model, "stream", { provider }), { ...gpu, variant: "gpu" });
    assert.deepEqual(graphFile(model, "full", { provider }), { ...full, variant: "cpu" });
  }
  assert.deepEqual(graphFile(model, "stream", { provider: "cpu" }), { ...stream, variant: "cpu" });
  assert.throws(
    () => graphFile(model, "gone", { provider: "cuda" }),
    brokenModel(/does not list a file "gone"/),
  );
  assert.deepEqual(packageFiles(model.manifest.files), [
    { ...stream, name: "stream", isForGpu: false },
    { ...gpu, name: "stream", isForGpu: true },
    { ...full, name: "full", isForGpu: false },
  ]);
});

function without(manifest: Json, field: string): Json {
  return Object.fromEntries(Object.entries(manifest).filter(([name]) => name !== field));
}

function withFile(file: Json | null): Json {
  return { ...RECOGNIZER, files: { stream: file } };
}
