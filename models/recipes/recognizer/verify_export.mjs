// Runs a graph on raw float32 inputs for verify_export.py, which has no ONNX runtime.
// Usage: node verify_export.mjs <folder with node_modules> <job.json>
// job: {stream, full, frames, size, channels, pcm: file of B rows, rows, chunks: [frames a step], lengths: [n per row], out}
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const [root, jobFile] = process.argv.slice(2);
const ort = createRequire(resolve(root, 'package.json'))('onnxruntime-node');
const job = JSON.parse(readFileSync(jobFile, 'utf8'));
const floats = (file) => {
  const b = readFileSync(file);
  return new Float32Array(b.buffer.slice(b.byteOffset, b.byteOffset + b.byteLength));
};
const options = { intraOpNumThreads: 1, interOpNumThreads: 1 };
const stream = await ort.InferenceSession.create(job.stream, options);
const full = await ort.InferenceSession.create(job.full, options);
const pcm = floats(job.pcm);
const { rows, frames, size, channels } = job;

/** Streams the given rows in steps of `step` frames; returns row-major log_probs, speech, encoded. */
async function run(which, step) {
  const b = which.length;
  const out = { log_probs: [], speech: [], encoded: [] };
  const width = { log_probs: 71, speech: 1, encoded: channels };
  for (const k in out) out[k] = new Float32Array(b * frames * width[k]);
  let state = new ort.Tensor('float32', new Float32Array(b * size), [b, size]);
  for (let at = 0; at < frames; ) {
    const n = Math.min(typeof step === 'number' ? step : step[at % step.length], frames - at);
    const x = new Float32Array(b * n * 640);
    which.forEach((r, i) => x.set(pcm.subarray((r * frames + at) * 640, (r * frames + at + n) * 640), i * n * 640));
    const y = await stream.run({ pcm: new ort.Tensor('float32', x, [b, n * 640]), state });
    for (const k in out) {
      const w = n * width[k];
      for (let i = 0; i < b; i++) out[k].set(y[k].data.subarray(i * w, (i + 1) * w), (i * frames + at) * width[k]);
    }
    state = y.next_state;
    at += n;
  }
  return out;
}

async function refine(encoded, lengths, n) {
  const b = lengths.length;
  const mask = new Float32Array(b * n);
  lengths.forEach((l, i) => mask.fill(1, i * n, i * n + l));
  const y = await full.run({
    encoded: new ort.Tensor('float32', encoded, [b, n, channels]),
    mask: new ort.Tensor('float32', mask, [b, n]),
  });
  return y.log_probs.data;
}

const difference = (a, b) => a.reduce((m, v, i) => Math.max(m, Math.abs(v - b[i])), 0);
const all = Array.from({ length: rows }, (_, i) => i);
const report = {};
const offline = await run(all, frames);
for (const k in offline) writeFileSync(`${job.out}.${k}`, Buffer.from(offline[k].buffer));
for (const step of job.chunks) {
  const s = await run(all, step);
  report[`stream in steps of ${step} against offline`] = Math.max(...Object.keys(s).map((k) => difference(s[k], offline[k])));
}
let worst = 0;
for (const r of all) {
  const s = await run([r], frames);
  worst = Math.max(worst, difference(s.log_probs, offline.log_probs.subarray(r * frames * 71, (r + 1) * frames * 71)));
}
report['row alone against in a batch'] = worst;
// Padding is filled with garbage: the mask must hide it.
const dirty = offline.encoded.slice();
job.lengths.forEach((l, r) => dirty.fill(37, (r * frames + l) * channels, (r + 1) * frames * channels));
const batched = await refine(dirty, job.lengths, frames);
writeFileSync(`${job.out}.full`, Buffer.from(batched.buffer));
worst = 0;
for (const r of all) {
  const l = job.lengths[r];
  const alone = await refine(offline.encoded.slice(r * frames * channels, (r * frames + l) * channels), [l], l);
  worst = Math.max(worst, difference(alone, batched.subarray(r * frames * 71, (r * frames + l) * 71)));
}
report['full: row alone against padded in a batch'] = worst;
const time = async (f, count) => {
  await f();
  const t = process.hrtime.bigint();
  for (let i = 0; i < count; i++) await f();
  return Number(process.hrtime.bigint() - t) / 1e6 / count;
};
const feed = (b, n) => ({
  pcm: new ort.Tensor('float32', new Float32Array(b * n * 640).fill(0.01), [b, n * 640]),
  state: new ort.Tensor('float32', new Float32Array(b * size), [b, size]),
});
const speed = {};
for (const [b, n] of [[1, 1], [1, 2], [1, 4], [8, 4], [32, 4], [1, 750]]) {
  const f = feed(b, n);
  const ms = await time(() => stream.run(f), n > 100 ? 3 : 30);
  speed[`stream batch ${b} x ${n * 40} ms`] = `${ms.toFixed(2)} ms = ${((b * n * 40) / ms).toFixed(0)} x real time`;
}
const ms = await time(() => refine(new Float32Array(250 * channels), [250], 250), 10);
speed['full, 10 s'] = `${ms.toFixed(1)} ms`;
console.log(JSON.stringify({ report, speed }));
