// Runs the shipped streaming graph for encoded.py, which has no ONNX runtime: reads audio on stdin, writes
// the second pass's input on stdout. Usage: node encode.mjs <folder with node_modules> <model folder> <steps
// a unit> Request: u32 count, then that many int16 samples, a multiple of 640. Response: int16 [count / 640,
// E], in steps.
import { readSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const [root, folder, steps] = process.argv.slice(2);
const ort = createRequire(resolve(root, 'package.json'))('onnxruntime-node');
const graph = await ort.InferenceSession.create(join(folder, 'stream.onnx'), { intraOpNumThreads: 1, interOpNumThreads: 1 });
const STDIN = 0;
const STDOUT = 1;

/** Reads the next bytes of stdin; null at its end. */
function read(bytes) {
  const buffer = new Uint8Array(bytes);
  for (let at = 0; at < bytes; ) {
    const count = readSync(STDIN, buffer, at, bytes - at, null);
    if (count === 0) return null;
    at += count;
  }
  return buffer;
}

function write(buffer) {
  for (let at = 0; at < buffer.length; ) at += writeSync(STDOUT, buffer, at);
}

/** Initial state: zeros. */
function states() {
  const feeds = {};
  for (const { name, type, shape } of graph.inputMetadata) {
    if (name === 'pcm') continue;
    const Values = type === 'uint8' ? Uint8Array : Float32Array;
    feeds[name] = new ort.Tensor(type, new Values(shape[1]), [1, shape[1]]);
  }
  return feeds;
}

for (;;) {
  const head = read(4);
  if (head === null) break;
  const count = new Uint32Array(head.buffer)[0];
  const samples = new Int16Array(read(2 * count).buffer);
  const pcm = Float32Array.from(samples, (value) => value / 32_768);
  const { encoded } = await graph.run({ pcm: new ort.Tensor('float32', pcm, [1, count]), ...states() }, ['encoded']);
  const answer = new Int16Array(encoded.data.length);
  for (let i = 0; i < answer.length; i++) {
    answer[i] = Math.max(-32_768, Math.min(32_767, Math.round(encoded.data[i] * steps)));
  }
  write(new Uint8Array(answer.buffer));
}
