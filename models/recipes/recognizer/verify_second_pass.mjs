// Checks and times graphs of the second pass, on encodings that `second_pass.py export` saved with torch's
// results. Usage: node verify_second_pass.mjs <folder with node_modules> <folder of fp32.onnx, int8.onnx,
// full.onnx and check.*> <shipped full.onnx>
// - fp32 against torch; - same results with any padding and batch, for int8 to the last bit; - packed
//   (full.onnx) against
// int8: the same to the last bit; - CPU time of 10 s of audio, all graphs alternating, compared with the
// shipped one.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const [root, folder, shipped] = process.argv.slice(2);
const ort = createRequire(resolve(root, 'package.json'))('onnxruntime-node');
const OUTPUTS = 71;
const TOLERANCE = 5e-4;
const TORCH_TOLERANCE = 1e-2;
const RUBBISH = 37;
const TEN_SECONDS = 250;
const TURNS = 40;
const { lengths, width } = JSON.parse(readFileSync(join(folder, 'check.json'), 'utf8'));
const floats = (file) => {
  const bytes = readFileSync(join(folder, file));
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
};
const encoded = floats('check.encoded'); // [rows, frames, width], zeros after each row
const torch = floats('check.log_probs');
const frames = encoded.length / width / lengths.length;
const load = (file) => ort.InferenceSession.create(file, { intraOpNumThreads: 1, interOpNumThreads: 1 });

async function refine(graph, values, counts, n) {
  const mask = new Float32Array(counts.length * n);
  for (const [row, count] of counts.entries()) mask.fill(1, row * n, row * n + count);
  const feeds = {
    encoded: new ort.Tensor('float32', values, [counts.length, n, width]),
    mask: new ort.Tensor('float32', mask, [counts.length, n]),
  };
  return (await graph.run(feeds)).log_probs.data;
}

/** Returns the largest difference inside the rows; `of(row)` returns a row to compare with. */
function difference(of, other) {
  let worst = 0;
  for (const [row, count] of lengths.entries()) {
    const [a, b] = [of(row), other(row)];
    for (let i = 0; i < count * OUTPUTS; i++) worst = Math.max(worst, Math.abs(a[i] - b[i]));
  }
  return worst;
}

const rowsOf = (values, n) => (row) => values.subarray(row * n * OUTPUTS, (row + 1) * n * OUTPUTS);

async function verify(name, graph, limit) {
  const dirty = encoded.slice();
  for (const [row, count] of lengths.entries()) {
    dirty.fill(RUBBISH, (row * frames + count) * width, (row + 1) * frames * width);
  }
  const batched = rowsOf(await refine(graph, dirty, lengths, frames), frames);
  const alone = [];
  for (const [row, count] of lengths.entries()) {
    const values = encoded.slice(row * frames * width, (row * frames + count) * width);
    alone.push(await refine(graph, values, [count], count));
  }
  requireBelow(`${name}: row alone against padded in a batch`, difference((row) => alone[row], batched), limit);
  return batched;
}

function requireBelow(name, value, limit) {
  console.log(`${name}: ${value.toExponential(1)}`);
  if (!(value <= limit)) throw new Error(`${name}: ${value} is above ${limit}`);
}

const graphs = new Map();
for (const name of ['fp32', 'int8', 'full']) graphs.set(name, await load(join(folder, `${name}.onnx`)));
graphs.set('shipped', await load(shipped));
const exact = await verify('fp32', graphs.get('fp32'), TOLERANCE);
requireBelow('fp32 against torch', difference(exact, rowsOf(torch, frames)), TORCH_TOLERANCE);
const int8 = await verify('int8', graphs.get('int8'), 0);
const packed = await verify('packed', graphs.get('full'), 0);
requireBelow('packed against int8', difference(packed, int8), 0);
console.log(`int8 against torch: ${difference(int8, rowsOf(torch, frames)).toExponential(1)} (only told)`);

const sound = new Float32Array(TEN_SECONDS * width).map((_, i) => encoded[i % encoded.length]);
const spent = new Map([...graphs.keys()].map((name) => [name, []]));
for (let turn = 0; turn < TURNS; turn++) {
  for (const [name, graph] of graphs) {
    const before = process.cpuUsage();
    await refine(graph, sound, [TEN_SECONDS], TEN_SECONDS);
    const { user, system } = process.cpuUsage(before);
    spent.get(name).push((user + system) / 1000);
  }
}
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const base = median(spent.get('shipped'));
for (const [name, values] of spent) {
  console.log(`10 s, ${name}: ${median(values).toFixed(1)} ms, ${(median(values) / base).toFixed(2)} of the shipped`);
}
