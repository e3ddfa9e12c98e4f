// Compares pack.py's graphs with their originals, on noise in several chunkings: every number must be the
// same. Usage: node verify_packed.mjs <folder with node_modules> <folder of stream-int8.onnx and
// full-int8.onnx> <model folder>
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const [root, before, after] = process.argv.slice(2);
const ort = createRequire(resolve(root, 'package.json'))('onnxruntime-node');
const load = (file) => ort.InferenceSession.create(file, { intraOpNumThreads: 1, interOpNumThreads: 1 });
const ROWS = 3;
const STEPS = 60;

let seed = 1;
const uniform = () => (seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff) / 0x7fffffff - 0.5;
const noise = (length, level) => Float32Array.from({ length }, (_, i) => level * uniform() * (1 + Math.sin(i / 700)));
const requireSame = (name, a, b) => {
  const at = a.data.findIndex((value, i) => !Object.is(value, b.data[i]));
  if (at >= 0) throw new Error(`${name}[${at}] is ${b.data[at]} packed, ${a.data[at]} before`);
};

/** Returns a graph's inputs for the first step. */
function zeroStates(graph) {
  const states = {};
  for (const { name, type, shape } of graph.inputMetadata) {
    if (name === 'pcm') continue;
    const Values = type === 'uint8' ? Uint8Array : Float32Array;
    states[name] = new ort.Tensor(type, new Values(ROWS * shape[1]), [ROWS, shape[1]]);
  }
  return states;
}

const streams = [await load(`${before}/stream-int8.onnx`), await load(`${after}/stream.onnx`)];
const states = streams.map(zeroStates);
for (let step = 0; step < STEPS; step++) {
  const samples = 640 * (1 + (step % 5));
  const pcm = new ort.Tensor('float32', noise(ROWS * samples, step % 7 === 0 ? 0 : 0.3), [ROWS, samples]);
  const said = [];
  for (const [i, graph] of streams.entries()) {
    said[i] = await graph.run({ pcm, ...states[i] });
    for (const name in states[i]) states[i][name] = said[i][`next_${name}`];
  }
  for (const name of ['log_probs', 'speech', 'encoded']) requireSame(name, said[0][name], said[1][name]);
}
const fulls = [await load(`${before}/full-int8.onnx`), await load(`${after}/full.onnx`)];
for (const frames of [1, 9, 108, 400]) {
  const size = fulls[0].inputMetadata.find(({ name }) => name === 'encoded').shape[2];
  const mask = new Float32Array(2 * frames).fill(1);
  mask.fill(0, Math.ceil(1.5 * frames));
  const feeds = {
    encoded: new ort.Tensor('float32', noise(2 * frames * size, 6), [2, frames, size]),
    mask: new ort.Tensor('float32', mask, [2, frames]),
  };
  const [a, b] = [await fulls[0].run(feeds), await fulls[1].run(feeds)];
  requireSame('full log_probs', a.log_probs, b.log_probs);
}
console.log(`packed graphs give the same numbers: ${STEPS} steps of ${ROWS} rows, 4 utterances of 2`);
