import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { RecognizerModel } from "../../native/models/recognizer.js";
import { quantizePackage } from "../../src/models/quantize.js";
import type { BenchOptions } from "../bench-options.js";
import { readSamples } from "../evaluate/samples.js";
import { readRecordings } from "../evaluate/sets.js";
import { saveResult } from "../save-result.js";
import { recognizerIn } from "../support/recognizer.js";
import { median } from "../support/synthesis-floor.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const TRUE_SHAPES = join(ROOT, ".cache/true-shapes");
const TINY = join(ROOT, "test/fixtures/adapters/tiny-nemo-streaming-ctc");
const LENGTHS_SECONDS = [3, 10, 20];
const TURNS = 5;
const SAMPLE_RATE_HZ = 16_000;

/**
 * `npm run bench -- quantized [FOLDER...]`: recogniser packages compared with their int8 variants, which it
 * generates: size, CPU time per utterance with one thread, alternating, and the share of log-prob rows with
 * the same best output. By default, packages with real shapes.
 */
export async function run(options: BenchOptions): Promise<void> {
  const { smoke } = options;
  const named = options.args.length > 0 ? options.args.map((path) => resolve(path)) : undefined;
  const shapes = ["gigaam-220m", "fastconformer-115m"]
    .map((name) => join(TRUE_SHAPES, name))
    .filter(existsSync);
  const packages = smoke ? [TINY] : (named ?? shapes);
  const made = await mkdtemp(join(tmpdir(), "dauys-quantized-"));
  try {
    const rows = [];
    for (const [index, folder] of packages.entries()) {
      const row = await compare(folder, join(made, String(index)), smoke);
      console.log(JSON.stringify(row, null, 1));
      rows.push(row);
    }
    if (!smoke) console.log(await saveResult("quantized", { parameters: { turns: TURNS }, packages: rows }));
  } finally {
    await rm(made, { recursive: true, force: true });
  }
}

async function compare(folder: string, outFolder: string, smoke: boolean) {
  const startedAtMs = performance.now();
  const { id, products, bytesBefore, bytesAfter } = await quantizePackage(folder, outFolder);
  const quantizeMs = performance.now() - startedAtMs;
  const { model: fp32 } = await recognizerIn(folder);
  const { model: int8 } = await recognizerIn(outFolder);
  const speech = await longSpeech();
  const lengths = [];
  for (const seconds of smoke ? LENGTHS_SECONDS.slice(0, 1) : LENGTHS_SECONDS) {
    const pcm = speech.subarray(0, seconds * SAMPLE_RATE_HZ);
    const agreement = await agreementOf(fp32, int8, pcm);
    const times: { readonly fp32Ms: number; readonly int8Ms: number }[] = [];
    for (let turn = 0; turn < (smoke ? 1 : TURNS); turn++) {
      times.push({ fp32Ms: await timed(fp32, pcm), int8Ms: await timed(int8, pcm) });
    }
    lengths.push({
      seconds,
      agreement,
      fp32CpuPerAudioSecond: median(times.map(({ fp32Ms }) => fp32Ms)) / 1_000 / seconds,
      int8CpuPerAudioSecond: median(times.map(({ int8Ms }) => int8Ms)) / 1_000 / seconds,
      ratio: median(times.map(({ fp32Ms, int8Ms }) => int8Ms / fp32Ms)),
      times,
    });
  }
  await fp32.release();
  await int8.release();
  return { id, products, quantizeMs, bytesBefore, bytesAfter, sizeRatio: bytesAfter / bytesBefore, lengths };
}

/** Returns the share of rows whose best output is the same. */
async function agreementOf(one: RecognizerModel, other: RecognizerModel, pcm: Float32Array): Promise<number> {
  const [a, b] = [await one.decodeUtterance(pcm), await other.decodeUtterance(pcm)];
  const width = one.vocabulary.length;
  const best = (rows: Float32Array, row: number) => {
    const values = rows.subarray(row * width, (row + 1) * width);
    return values.indexOf(Math.max(...values));
  };
  let same = 0;
  for (let row = 0; row < a.frames; row++) if (best(a.logProbs, row) === best(b.logProbs, row)) same++;
  return same / a.frames;
}

/** Returns the CPU time of this otherwise idle process: a shared machine affects it less than wall time. */
async function timed(model: RecognizerModel, pcm: Float32Array): Promise<number> {
  const before = process.cpuUsage();
  await model.decodeUtterance(pcm);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** Concatenates recordings of people. */
async function longSpeech(): Promise<Float32Array> {
  const longest = Math.max(...LENGTHS_SECONDS) * SAMPLE_RATE_HZ;
  const whole = new Float32Array(longest);
  let filled = 0;
  for (const { path } of await readRecordings()) {
    const samples = await readSamples(path, SAMPLE_RATE_HZ);
    const part = samples.subarray(0, longest - filled);
    whole.set(part, filled);
    filled += part.length;
    if (filled === longest) break;
  }
  return whole;
}
