// Checks exported voice activity: same results alone and inside the recogniser, for any chunking and batch;
// the recogniser's text must not change by a bit. Prints the CPU time of its step compared with the
// recogniser's.
//
//     node verify_near.mjs NODE_ROOT BEFORE_STREAM.onnx AFTER_STREAM.onnx NEAR.onnx
import { createRequire } from "node:module";
import { join } from "node:path";

const [root, beforePath, afterPath, alonePath] = process.argv.slice(2);
const ort = createRequire(join(root, "package.json"))("onnxruntime-node");
const FRAME = 640;
const options = { intraOpNumThreads: 1, interOpNumThreads: 1 };
const [before, after, alone] = await Promise.all([beforePath, afterPath, alonePath].map((p) => ort.InferenceSession.create(p, options)));
const width = (session, name) => session.inputMetadata.find((m) => m.name === name).shape[1];

function noisySpeechlike(samples, seed) {
  let s = seed;
  const uniform = () => ((s = (Math.imul(s, 1664525) + 1013904223) >>> 0) / 2 ** 32) * 2 - 1;
  return Float32Array.from({ length: samples }, (_, i) => {
    const on = Math.floor(i / 6_000) % 3 !== 0;
    const voice = on ? Math.sin(i * 0.05) + Math.sin(i * 0.1 + 1) * 0.6 + Math.sin(i * 0.37) * 0.3 : 0;
    return 0.08 * voice * (1 + 0.5 * Math.sin(i / 800)) + 0.01 * uniform();
  });
}

/** Runs rows of equal length, `chunk` frames at a time. */
async function run(session, rows, chunk) {
  const batch = rows.length;
  let state = new Float32Array(batch * width(session, "state"));
  let history = new Uint8Array(batch * width(session, "history"));
  const frames = rows[0].length / FRAME;
  const speech = rows.map(() => []);
  const logProbs = rows.map(() => []);
  for (let at = 0; at < frames; at += chunk) {
    const n = Math.min(chunk, frames - at);
    const pcm = new Float32Array(batch * n * FRAME);
    rows.forEach((row, i) => pcm.set(row.subarray(at * FRAME, (at + n) * FRAME), i * n * FRAME));
    const out = await session.run({
      pcm: new ort.Tensor("float32", pcm, [batch, n * FRAME]),
      state: new ort.Tensor("float32", state, [batch, state.length / batch]),
      history: new ort.Tensor("uint8", history, [batch, history.length / batch]),
    });
    rows.forEach((_, i) => {
      speech[i].push(...out.speech.data.subarray(i * n, (i + 1) * n));
      if (out.log_probs) logProbs[i].push(...out.log_probs.data.subarray(i * n * 71, (i + 1) * n * 71));
    });
    state = out.next_state.data;
    history = out.next_history.data;
  }
  return { speech, logProbs };
}

const same = (a, b) => a.length === b.length && a.every((v, i) => Object.is(v, b[i]));
const rows = [1, 2, 3, 4, 5].map((seed) => noisySpeechlike(150 * FRAME, seed));
const reference = await run(after, rows.slice(0, 1), 1);
const whole = await run(after, rows.slice(0, 1), 150);
const batched = await run(after, rows, 1);
const chunked = await run(after, rows, 4);
const own = await run(alone, rows, 3);
const old = await run(before, rows.slice(0, 1), 1);
const checks = {
  "any cut": same(reference.speech[0], whole.speech[0]) && same(chunked.speech[0], reference.speech[0]),
  "any batch": same(reference.speech[0], batched.speech[0]),
  "alone as inside": own.speech.every((row, i) => same(row, batched.speech[i])),
  "log-probs untouched": same(reference.logProbs[0], old.logProbs[0]),
};
console.log(checks);

async function milliseconds(session, batch) {
  const pcm = new ort.Tensor("float32", new Float32Array(batch * FRAME).map((_, i) => 0.05 * Math.sin(i * 0.07)), [batch, FRAME]);
  const feeds = {
    pcm,
    state: new ort.Tensor("float32", new Float32Array(batch * width(session, "state")), [batch, width(session, "state")]),
    history: new ort.Tensor("uint8", new Uint8Array(batch * width(session, "history")), [batch, width(session, "history")]),
  };
  for (let i = 0; i < 20; i++) await session.run(feeds);
  const started = process.cpuUsage();
  for (let i = 0; i < 100; i++) await session.run(feeds);
  const { user, system } = process.cpuUsage(started);
  return (user + system) / 100_000;
}
for (const batch of [1, 8, 32, 64]) {
  const ratios = [];
  let step = 0;
  let small = 0;
  for (let turn = 0; turn < 9; turn++) {
    const a = await milliseconds(before, batch);
    const b = await milliseconds(after, batch);
    small = await milliseconds(alone, batch);
    step = a;
    ratios.push(b / a);
  }
  ratios.sort((x, y) => x - y);
  console.log(`${batch} rows: step ${step.toFixed(2)} ms, with this ${ratios[4].toFixed(3)} of it (${ratios[0].toFixed(3)} to ${ratios[8].toFixed(3)}), alone ${small.toFixed(3)} ms`);
}
if (Object.values(checks).includes(false)) process.exit(1);
