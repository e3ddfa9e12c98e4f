// Measures the ranges of the products' inputs over the development speech, for quantize.py:
//   node calibrate.mjs FOLDER EVERY_NTH ROOT
// FOLDER contains the probes, or the shipped stream.onnx if only full.onnx is new; stream.json and full.json
// are written there; ROOT has onnxruntime-node in node_modules; the audio is that of .cache/dev. Ignores the
// most extreme hundred-thousandth of the values on each side.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [folder, every, root] = process.argv.slice(2);
const ort = createRequire(resolve(root, "package.json"))("onnxruntime-node");
const DEV = new URL("../.cache/dev/", import.meta.url).pathname;
const FRAME = 640;
const FLUSH_FRAMES = 8;
const OUTSIDE = 1e-5;
/** Number of values kept per product, drawn evenly. */
const KEPT = 400_000;

const stream = await ort.InferenceSession.create(join(folder, "stream.onnx"), { intraOpNumThreads: 1 });
const full = await ort.InferenceSession.create(join(folder, "full.onnx"), { intraOpNumThreads: 1 });
const samples = { stream: new Map(), full: new Map() };

function keep(into, outputs) {
  for (const [name, tensor] of Object.entries(outputs)) {
    if (!name.startsWith("probe:")) continue;
    const product = name.slice("probe:".length);
    const kept = into.get(product) ?? [];
    into.set(product, kept);
    const step = Math.max(1, Math.floor(tensor.data.length / 20_000));
    for (let i = 0; i < tensor.data.length && kept.length < KEPT; i += step) kept.push(tensor.data[i]);
  }
}

/** Initial state: zeros. */
function states() {
  const feeds = {};
  for (const { name, type, shape } of stream.inputMetadata) {
    if (name === "pcm") continue;
    const Values = type === "uint8" ? Uint8Array : Float32Array;
    feeds[name] = new ort.Tensor(type, new Values(shape[1]), [1, shape[1]]);
  }
  return feeds;
}

const lines = readFileSync(join(DEV, "index.jsonl"), "utf8").trim().split("\n");
for (let i = 0; i < lines.length; i += Number(every)) {
  const wav = readFileSync(join(DEV, JSON.parse(lines[i]).file));
  const frames = Math.floor((wav.length - 44) / 2 / FRAME) + FLUSH_FRAMES;
  const pcm = new Float32Array(frames * FRAME);
  for (let k = 0; k < (wav.length - 44) >> 1 && k < pcm.length; k++) pcm[k] = wav.readInt16LE(44 + 2 * k) / 32_768;
  const heard = await stream.run({
    pcm: new ort.Tensor("float32", pcm, [1, pcm.length]),
    ...states(),
  });
  keep(samples.stream, heard);
  const mask = new ort.Tensor("float32", new Float32Array(frames).fill(1), [1, frames]);
  keep(samples.full, await full.run({ encoded: heard.encoded, mask }));
}
for (const [graph, products] of Object.entries(samples)) {
  const ranges = {};
  for (const [product, values] of products) {
    const sorted = Float32Array.from(values).sort();
    const cut = Math.floor(sorted.length * OUTSIDE);
    ranges[product] = [sorted[cut], sorted[sorted.length - 1 - cut]];
  }
  writeFileSync(join(folder, `${graph}.json`), `${JSON.stringify(ranges, null, 1)}\n`);
}
