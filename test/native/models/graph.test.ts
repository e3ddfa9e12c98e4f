import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { link, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { ServiceError } from "../../../core/domain/errors.js";
import { CtcTwoPass } from "../../../native/models/ctc-two-pass/ctc-two-pass.js";
import type { CtcTwoPassContents } from "../../../native/models/ctc-two-pass/manifest.js";
import { readManifest, readPackage } from "../../../native/models/find-packages.js";
import { loadGraph } from "../../../native/models/graph.js";
import { checkGraphFiles, LocationFinder } from "../../../native/models/graph-files.js";
import type { RecognizerManifest } from "../../../native/models/manifest.js";
import { graphOverMappedWeights } from "../../../native/models/mapped-graph.js";
import type { PackageFolder } from "../../../native/models/package.js";
import { RECOGNIZER_FOLDER, SYNTHESIZER_FOLDER, temporaryFolder } from "../../support/folders.js";

const OPTIONS = { intraOpThreads: 1 };
const VOCODER = {
  file: "graph",
  inputs: ["mel", "f0", "voicing", "excitation", "noise"],
  outputs: ["pcm"],
} as const;

/** Creates a package whose files contain these bytes, with their real hashes. */
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

test("a graph that matches its contract is loaded", async () => {
  const model = await packageOf({ graph: await shipped(SYNTHESIZER_FOLDER, "vocoder.onnx") });
  const graph = await loadGraph(model, VOCODER, OPTIONS);
  assert.deepEqual(graph.outputNames, ["pcm"]);
  await graph.release();
});

test("a truncated graph is rejected with its name", async () => {
  const bytes = await shipped(SYNTHESIZER_FOLDER, "vocoder.onnx");
  const model = await packageOf({ graph: bytes.subarray(0, bytes.length / 2) });
  await assert.rejects(loadGraph(model, VOCODER, OPTIONS), brokenModel(/Cannot load made-up\/graph\.bin: /));
});

test("an empty graph is rejected with its name", async () => {
  const model = await packageOf({ graph: new Uint8Array(0) });
  await assert.rejects(loadGraph(model, VOCODER, OPTIONS), brokenModel(/Cannot load made-up\/graph\.bin: /));
});

test("a wrong graph is rejected with its missing and its actual tensors", async () => {
  const model = await packageOf({ graph: await shipped(SYNTHESIZER_FOLDER, "encoder.onnx") });
  await assert.rejects(
    loadGraph(model, VOCODER, OPTIONS),
    brokenModel(/graph\.bin: inputs must contain mel, f0, voicing, excitation, noise, found tokens, /),
  );
});

test("a graph without an output is rejected with its name", async () => {
  const model = await packageOf({ graph: await shipped(SYNTHESIZER_FOLDER, "vocoder.onnx") });
  const contract = { ...VOCODER, outputs: ["pcm", "loudness"] };
  await assert.rejects(
    loadGraph(model, contract, OPTIONS),
    brokenModel(/graph\.bin: outputs must contain loudness, found pcm$/),
  );
});

/** A protobuf field with fewer than 128 bytes. */
function field(number: number, content: Uint8Array | string): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([Buffer.of((number << 3) | 2, bytes.length), bytes]);
}

function whole(number: number, value: number): Buffer {
  return Buffer.of(number << 3, value);
}

/** A graph that adds four weights to its input. The weights are stored in the file `location` next to it. */
function graphWithWeightsIn(location: string): Buffer {
  const entry = (key: string, value: string) => field(13, Buffer.concat([field(1, key), field(2, value)]));
  const weights = [whole(1, 4), whole(2, 1), field(8, "w"), entry("location", location), whole(14, 1)];
  const shape = field(2, field(1, whole(1, 4)));
  const value = (name: string) =>
    Buffer.concat([field(1, name), field(2, field(1, Buffer.concat([whole(1, 1), shape])))]);
  const node = Buffer.concat([field(1, "x"), field(1, "w"), field(2, "y"), field(4, "Add")]);
  const graph = [
    field(1, node),
    field(2, "g"),
    field(5, Buffer.concat(weights)),
    field(11, value("x")),
    field(12, value("y")),
  ];
  return Buffer.concat([whole(1, 8), longField(7, Buffer.concat(graph)), field(8, whole(2, 16))]);
}

/** Like `field`, for any number of bytes. */
function longField(number: number, bytes: Buffer): Buffer {
  const length: number[] = [];
  let rest = bytes.length;
  for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) | 0x80);
  return Buffer.concat([Buffer.of((number << 3) | 2, ...length, rest), bytes]);
}

const ADDING = { file: "graph", inputs: ["x"], outputs: ["y"] } as const;
const WEIGHTS = Buffer.from(Float32Array.of(1, 20, 300, 4_000).buffer);

/** A package of a graph whose weights are in `data.bin`, and the entry of that file in the manifest. */
async function packageWithSideFile(
  location: string,
  external: readonly string[],
): Promise<PackageFolder<RecognizerManifest>> {
  const model = await packageOf({ graph: graphWithWeightsIn(location), data: WEIGHTS });
  const files = { ...model.manifest.files };
  files["graph"] = { ...files["graph"]!, external };
  return { ...model, manifest: { ...model.manifest, files } };
}

test("a graph's side file is loaded with it", async () => {
  const graph = await loadGraph(await packageWithSideFile("data.bin", ["data"]), ADDING, OPTIONS);
  const { y } = await graph.run({ x: new Tensor("float32", Float32Array.of(1, 2, 3, 4), [4]) });
  assert.deepEqual(y!.data, Float32Array.of(2, 22, 303, 4_004));
  await graph.release();
});

test("a side file must have the hash in the manifest", async () => {
  const model = await packageWithSideFile("data.bin", ["data"]);
  await writeFile(join(model.folder, "data.bin"), Buffer.alloc(WEIGHTS.length));
  await assert.rejects(loadGraph(model, ADDING, OPTIONS), brokenModel(/sha256 of .*data\.bin must be/));
  await rm(join(model.folder, "data.bin"));
  await assert.rejects(loadGraph(model, ADDING, OPTIONS), brokenModel(/data\.bin cannot be read/));
});

test("a graph with an unlisted side file is rejected with that file", async () => {
  for (const [location, external] of [
    ["data.bin", []],
    ["other.bin", ["data"]],
  ] as const) {
    await assert.rejects(
      loadGraph(await packageWithSideFile(location, external), ADDING, OPTIONS),
      brokenModel(
        new RegExp(`made-up/graph\\.bin: its weights are in ${location}, which files\\.graph\\.external`),
      ),
    );
  }
});

test("a GPU variant must match its own hash and those of its side files", async () => {
  const model = await packageWithSideFile("data.bin", ["data"]);
  const { data, graph } = model.manifest.files;
  const withVariant = (external: readonly string[]) => {
    const files = { data: data!, graph: { ...data!, gpu: { ...graph!, external } } };
    return { ...model, manifest: { ...model.manifest, files } };
  };
  const found = await checkGraphFiles(withVariant(["data"]), "graph", { provider: "cuda" });
  assert.deepEqual(
    [found.path, found.variant, found.hasSideFiles],
    [join(model.folder, "graph.bin"), "gpu", true],
  );
  assert.equal((await checkGraphFiles(withVariant(["data"]), "graph")).path, join(model.folder, "data.bin"));
  await assert.rejects(
    checkGraphFiles(withVariant([]), "graph", { provider: "cuda" }),
    brokenModel(/made-up\/graph\.bin: its weights are in data\.bin, which files\.graph\.gpu\.external does/),
  );
  await writeFile(join(model.folder, "data.bin"), Buffer.alloc(WEIGHTS.length));
  await assert.rejects(
    checkGraphFiles(withVariant(["data"]), "graph", { provider: "cuda" }),
    brokenModel(/sha256 of .*data\.bin must be/),
  );
});

test("names of side files are found however a graph's bytes are chunked", () => {
  const graph = Buffer.concat([graphWithWeightsIn("one.data"), graphWithWeightsIn("folder/two.data")]);
  for (let size = 1; size < 40; size++) {
    const finder = new LocationFinder();
    for (let at = 0; at < graph.length; at += size) finder.push(graph.subarray(at, at + size));
    assert.deepEqual(finder.locations, ["one.data", "folder/two.data"], `${size} bytes at a time`);
  }
});

test("a graph with mapped weights gives the results of the whole graph", async () => {
  const path = "test/fixtures/adapters/tiny-gigaam-ctc/model.onnx";
  const mapped = await graphOverMappedWeights(path);
  assert.ok(mapped.length < 0.7 * (await readFile(path)).length, `${mapped.length} bytes`);
  const folder = { model_external_initializers_file_folder_path: dirname(path) };
  const graphs = [
    await InferenceSession.create(path),
    await InferenceSession.create(mapped, { extra: { session: folder } }),
  ];
  const features = Float32Array.from({ length: 64 * 40 }, (_, i) => 5 * Math.sin(i));
  const answers = [];
  for (const graph of graphs) {
    const feature_lengths = new Tensor("int64", BigInt64Array.of(40n), [1]);
    const { log_probs } = await graph.run({
      features: new Tensor("float32", features, [1, 64, 40]),
      feature_lengths,
    });
    answers.push(log_probs!.data);
    await graph.release();
  }
  assert.deepEqual(answers[1], answers[0]);
});

test("a graph of more than 64 MiB is loaded with its weights mapped", async () => {
  const weights = new Float32Array(17 * 2 ** 20);
  weights[5] = 7;
  weights[weights.length - 1] = 9;
  const value = (name: string, type: number) => {
    const shape = field(2, field(1, whole(1, 2)));
    return Buffer.concat([field(1, name), field(2, field(1, Buffer.concat([whole(1, type), shape])))]);
  };
  const size = Buffer.of(1 << 3, 0x80, 0x80, 0xc0, 0x08);
  const tensor = [size, whole(2, 1), field(8, "w"), longField(9, Buffer.from(weights.buffer))];
  const node = Buffer.concat([field(1, "w"), field(1, "x"), field(2, "y"), field(4, "Gather")]);
  const graph = [
    field(1, node),
    field(2, "g"),
    longField(5, Buffer.concat(tensor)),
    field(11, value("x", 7)),
    field(12, value("y", 1)),
  ];
  const bytes = Buffer.concat([whole(1, 8), longField(7, Buffer.concat(graph)), field(8, whole(2, 16))]);
  const loaded = await loadGraph(await packageOf({ graph: bytes }), ADDING, OPTIONS);
  const indices = BigInt64Array.of(5n, BigInt(weights.length - 1));
  const { y } = await loaded.run({ x: new Tensor("int64", indices, [2]) });
  assert.deepEqual(y!.data, Float32Array.of(7, 9));
  await loaded.release();
});

test("weights of a file that is not a graph cannot be mapped", async () => {
  const path = join(await temporaryFolder(), "graph.onnx");
  for (const bytes of [Buffer.from("no graph, but text"), field(7, "abc").subarray(0, 3)]) {
    await writeFile(path, bytes);
    await assert.rejects(graphOverMappedWeights(path), RangeError);
  }
});

test("a file changed or replaced after hashing is detected; a new hard link is allowed", async () => {
  const model = await packageWithSideFile("data.bin", ["data"]);
  const data = join(model.folder, "data.bin");
  const files = await checkGraphFiles(model, "graph");
  assert.equal(files.byteCount, WEIGHTS.length + graphWithWeightsIn("data.bin").length);
  await link(data, join(model.folder, "shared.bin"));
  await files.requireUnchanged();
  await writeFile(`${data}.new`, WEIGHTS);
  await rename(`${data}.new`, data);
  await assert.rejects(files.requireUnchanged(), brokenModel(/data\.bin was changed while it was loaded/));
  const again = await checkGraphFiles(model, "graph");
  await utimes(data, new Date(), new Date(Date.now() + 60_000));
  await assert.rejects(again.requireUnchanged(), brokenModel(/data\.bin was changed while it was loaded/));
});

test("a recogniser whose vocabulary and output differ in size is rejected", async () => {
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
  // The kernels for another batch size sum in another order, in single precision, with log-probs down to -20.
  for (const [i, value] of single.logProbs.entries()) {
    assert.ok(Math.abs(row[i]! - value) < 1e-3, `log-prob ${i}: ${row[i]} beside another, ${value} alone`);
  }
  await model.release();
});
