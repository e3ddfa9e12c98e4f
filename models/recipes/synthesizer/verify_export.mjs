// Runs the graphs in onnxruntime-node against values written by verify_export.py, and times them. CASES_DIR
//   contains float graphs. node verify_export.mjs CASES_DIR MODEL_DIR [PATH_OF_ONNXRUNTIME_NODE]
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [cases, models, runtime = "onnxruntime-node"] = process.argv.slice(2);
const ort = createRequire(import.meta.url)(runtime);
const options = { intraOpNumThreads: 1, interOpNumThreads: 1, graphOptimizationLevel: "all" };
const [sessions, floats] = [{}, {}];
for (const name of ["encoder", "condition", "step", "vocoder"]) {
  sessions[name] = await ort.InferenceSession.create(path.join(models, `${name}.onnx`), options);
  floats[name] = await ort.InferenceSession.create(path.join(cases, `${name}.onnx`), options);
}

/** Reads a tensor written as {dtype, dims, file}. */
function load({ dtype, dims, file }) {
  const bytes = readFileSync(path.join(cases, file));
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  return new ort.Tensor(dtype, dtype === "int64" ? new BigInt64Array(buffer) : new Float32Array(buffer), dims);
}

const difference = (a, b) => {
  let worst = a.length === b.length ? 0 : Infinity;
  for (let i = 0; i < a.length; i++) worst = Math.max(worst, Math.abs(a[i] - b[i]));
  return worst;
};

let failed = false;
const report = (name, worst, limit) => {
  const good = worst <= limit;
  failed ||= !good;
  console.log(`${good ? "ok  " : "FAIL"} ${name}: largest difference ${worst.toExponential(2)} (limit ${limit})`);
};

const list = JSON.parse(readFileSync(path.join(cases, "cases.json"), "utf8"));
for (const { name, graph, inputs, outputs, limit } of list) {
  const feeds = Object.fromEntries(Object.entries(inputs).map(([key, value]) => [key, load(value)]));
  const result = await floats[graph].run(feeds);
  for (const [key, value] of Object.entries(outputs)) report(`${name} ${key}`, difference(result[key].data, load(value).data), limit);
}

/** Returns rows [first, first + count) of axis 1 of row `row` of a tensor, as a batch of one. */
function part(tensor, row, first, count) {
  const [, length, ...rest] = tensor.dims;
  const width = rest.reduce((a, b) => a * b, 1);
  const start = (row * length + first) * width;
  return new ort.Tensor(tensor.type, tensor.data.slice(start, start + count * width), [1, count, ...rest]);
}
const one = (tensor, row) => new ort.Tensor(tensor.type, tensor.data.slice(row, row + 1), [1]);

// A row of a padded batch must equal the row alone.
for (const { graph, inputs, lengths } of JSON.parse(readFileSync(path.join(cases, "batches.json"), "utf8"))) {
  const feeds = Object.fromEntries(Object.entries(inputs).map(([key, value]) => [key, load(value)]));
  const together = await sessions[graph].run(feeds);
  let worst = 0;
  for (let row = 0; row < lengths.length; row++) {
    const single = {};
    for (const [key, tensor] of Object.entries(feeds))
      single[key] = tensor.dims.length === 1 ? one(tensor, row) : part(tensor, row, 0, lengths[row][key] ?? tensor.dims[1]);
    const alone = await sessions[graph].run(single);
    for (const [key, tensor] of Object.entries(alone))
      worst = Math.max(worst, difference(tensor.data, part(together[key], row, 0, tensor.dims[1]).data));
  }
  report(`${graph} batch with padding against single`, worst, 1e-5);
}

// The vocoder in pieces, with 10 frames of context on each side, compared with the whole.
{
  const { inputs } = list.find(({ graph }) => graph === "vocoder");
  const whole = Object.fromEntries(Object.entries(inputs).map(([key, value]) => [key, load(value)]));
  const frames = whole.mel.dims[1], size = 32, context = 10;
  const full = (await sessions.vocoder.run(whole)).pcm;
  let worst = 0;
  for (let start = 0; start < frames; start += size) {
    const from = Math.max(0, start - context), to = Math.min(frames, start + size + context);
    const feeds = {};
    for (const key of ["mel", "f0", "voicing"]) feeds[key] = part(whole[key], 0, from, to - from);
    for (const key of ["excitation", "noise"]) feeds[key] = part(whole[key], 0, from * 256, (to - from) * 256);
    const { pcm } = await sessions.vocoder.run(feeds);
    const count = Math.min(size, frames - start) * 256, skip = (start - from) * 256;
    worst = Math.max(worst, difference(pcm.data.slice(skip, skip + count), full.data.slice(start * 256, start * 256 + count)));
  }
  report("vocoder in pieces against whole", worst, 1e-5);
}

// Speed: milliseconds of each graph for 5 s of speech, one thread, best of five.
const timing = {};
for (const { name, graph, inputs } of JSON.parse(readFileSync(path.join(cases, "timing.json"), "utf8"))) {
  const feeds = Object.fromEntries(Object.entries(inputs).map(([key, value]) => [key, load(value)]));
  let best = Infinity;
  for (let i = 0; i < 6; i++) {
    const start = performance.now();
    await sessions[graph].run(feeds);
    best = Math.min(best, performance.now() - start);
  }
  timing[graph] = best;
  console.log(`${name}: ${best.toFixed(1)} ms`);
}
const seconds = 5.12;
for (const steps of [4, 8, 16, 32]) {
  const total = timing.encoder + timing.condition + steps * timing.step + timing.vocoder;
  console.log(`nfe ${steps}: real-time factor ${(total / 1000 / seconds).toFixed(4)}`);
}
process.exit(failed ? 1 : 0);
