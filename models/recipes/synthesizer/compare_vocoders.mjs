// Synthesizes sentences with several vocoder graphs, alternating, and times them; see compare_vocoders.py.
//   node compare_vocoders.mjs PLAN.json [PATH_OF_ONNXRUNTIME_NODE]   -> {graph: {msPerSecond, joint}} on stdout
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [planFile, runtime = "onnxruntime-node"] = process.argv.slice(2);
const { folder, graphs, frames, repeats } = JSON.parse(readFileSync(planFile, "utf8"));
const ort = createRequire(import.meta.url)(runtime);
const HOP = 256, MELS = 80, RATE = 24000, CONTEXT = 10, PIECE = 48;
const WIDTHS = { mel: MELS, f0: 1, voicing: 1, excitation: HOP, noise: HOP };

const sessions = {};
for (const [name, file] of Object.entries(graphs))
  sessions[name] = await ort.InferenceSession.create(file, { intraOpNumThreads: 1, interOpNumThreads: 1, graphOptimizationLevel: "all" });

function load(number) {
  return Object.fromEntries(Object.keys(WIDTHS).map((name) => {
    const bytes = readFileSync(path.join(folder, `${number}.${name}`));
    return [name, new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength))];
  }));
}

/** Returns frames [from, to) as the graphs' inputs. */
function feeds(arrays, from, to) {
  return Object.fromEntries(Object.entries(WIDTHS).map(([name, width]) => {
    const count = to - from;
    const dims = name === "mel" ? [1, count, width] : [1, count * width];
    return [name, new ort.Tensor("float32", arrays[name].slice(from * width, to * width), dims)];
  }));
}

async function speak(name, arrays, from, to) {
  const { pcm } = await sessions[name].run(feeds(arrays, from, to));
  return pcm.data;
}

/**
 * Returns the largest difference between a sentence in pieces and as a whole, relative to its largest sample.
 */
async function jointOf(name, arrays, total, whole) {
  let [worst, peak] = [0, 0];
  for (const sample of whole) peak = Math.max(peak, Math.abs(sample));
  for (let start = 0; start < total; start += PIECE) {
    const [from, to] = [Math.max(0, start - CONTEXT), Math.min(total, start + PIECE + CONTEXT)];
    const part = await speak(name, arrays, from, to);
    const end = Math.min(total, start + PIECE);
    for (let i = start * HOP; i < end * HOP; i++) worst = Math.max(worst, Math.abs(part[i - from * HOP] - whole[i]));
  }
  return worst / peak;
}

const result = Object.fromEntries(Object.keys(graphs).map((name) => [name, { ms: 0, joint: 0 }]));
let seconds = 0;
for (const [number, total] of frames.entries()) {
  const arrays = load(number);
  const best = {};
  for (let i = 0; i < repeats; i++) {
    for (const name of Object.keys(graphs)) {
      const before = process.cpuUsage();
      const pcm = await speak(name, arrays, 0, total);
      const { user, system } = process.cpuUsage(before);
      best[name] = Math.min(best[name] ?? Number.POSITIVE_INFINITY, (user + system) / 1000);
      if (i > 0) continue;
      writeFileSync(path.join(folder, `${number}.${name}`), new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength));
      if (number % 12 === 0) result[name].joint = Math.max(result[name].joint, await jointOf(name, arrays, total, pcm));
    }
  }
  for (const name of Object.keys(graphs)) result[name].ms += best[name];
  seconds += (total * HOP) / RATE;
}
for (const one of Object.values(result)) one.msPerSecond = one.ms / seconds;
process.stdout.write(JSON.stringify(result));
