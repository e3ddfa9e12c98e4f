import { fileURLToPath } from "node:url";
import { toFloat } from "../../core/domain/audio/pcm.js";
import { gaussianNoise } from "../../core/domain/synthesis/noise.js";
import { LiveStepper } from "../../native/live/stepper.js";
import type { Recognizer } from "../../native/recognition/load-recognizer.js";
import { PcmRing } from "../../native/ring/pcm-ring.js";
import type { BenchOptions } from "../bench-options.js";
import { percent } from "../evaluate/report.js";
import { saveResult } from "../save-result.js";
import { liveOpen } from "../support/live-open.js";
import { percentiles } from "../support/percentiles.js";
import { recognizerIn } from "../support/recognizer.js";
import { runSaturated, type SaturatedRun, talk } from "../support/saturated-stepper.js";

const MODEL = fileURLToPath(new URL("../../../models/svc-kk-ru-v2", import.meta.url));
const ROWS = [1, 8, 32, 64];
/** Alternating measurements, so that other load on the machine affects both. */
const TURNS = 5;
/** Amplitude of a hiss, relative to full scale 1: too quiet to be classified as speech. */
const HISS = 0.0005;

const SATURATED = [
  { sessions: 32, frames: 1 },
  { sessions: 64, frames: 1 },
  { sessions: 64, frames: 2 },
] as const;
const ROUNDS = 400;
const SECOND_PASS_SECONDS = 4;

interface Measured {
  readonly stepsMs: readonly number[];
  /** Growth of the heap in bytes, without garbage collections. */
  readonly heapBytes: number;
}

/**
 * `npm run bench -- live-step`: rounds of the live worker's stepper, with sessions that keep up, compared
 * with a tight loop over the same batch. The ratio is the cost of gathering, distribution and bookkeeping;
 * bytes are those allocated and discarded. Then rounds with speech, saturated; and a second pass over kept
 * encoder output compared with one over the audio. Takes two minutes.
 */
export async function run({ smoke }: BenchOptions): Promise<void> {
  const recognizer = await recognizerIn(MODEL);
  const figures = [];
  for (const rows of smoke ? [2] : ROWS) figures.push(await compare(recognizer, rows, smoke ? 5 : 60));
  for (const { rows, ratio, stepMs, floorMs, bytesPerStep, floorBytesPerRun } of figures) {
    console.log(
      `${String(rows).padStart(3)} sessions: step ${stepMs.toFixed(2)} ms, bare run ${floorMs.toFixed(2)} ms, ` +
        `floor over step ${ratio.toFixed(3)}; heap ${bytesPerStep} bytes a step, ${floorBytesPerRun} of a bare run`,
    );
  }
  const pcm = await talk(recognizer.model.manifest.sampleRateHz);
  const saturated: SaturatedRun[] = [];
  for (const shape of smoke ? [{ sessions: 2, frames: 1 }] : SATURATED) {
    const figure = await runSaturated(recognizer, { ...shape, rounds: smoke ? 5 : ROUNDS, pcm });
    saturated.push(figure);
    console.log(
      `${shape.sessions} sessions of speech, ${shape.frames * 40} ms a step: ${percent(figure.runShare)} % inside the graphs, ` +
        `${(figure.audioSeconds / (figure.wallMs / 1_000)).toFixed(0)} streams a core`,
    );
  }
  const secondPass = await compareSecondPass(recognizer, pcm, smoke ? 2 : 30);
  console.log(
    `second pass over ${SECOND_PASS_SECONDS} s: ${secondPass.keptMs.toFixed(2)} ms over kept encoder output ` +
      `(${secondPass.searchMs.toFixed(2)} of them the search), ${secondPass.audioMs.toFixed(2)} ms over the audio`,
  );
  await recognizer.model.release();
  if (smoke) return;
  await saveResult("live-step", { parameters: { turns: TURNS, hiss: HISS }, figures, saturated, secondPass });
}

/** Returns the median times of one second pass in both ways, and of its beam search. */
async function compareSecondPass({ model, utterances }: Recognizer, pcm: Int16Array, turns: number) {
  const { sampleRateHz, frameSamples, flushSamples } = model.manifest;
  const audio = toFloat(pcm.subarray(0, SECOND_PASS_SECONDS * sampleRateHz));
  const flush = model.stepBatch(1, flushSamples / frameSamples);
  const frames = (audio.length + flushSamples) / frameSamples;
  const encoder = model.stepBatch(1, frames);
  encoder.pcm.set(audio);
  await encoder.run();
  const encoded = encoder.encoded.slice();
  const times = { kept: [] as number[], search: [] as number[], audio: [] as number[] };
  const options = { offsetSeconds: 0, endSeconds: SECOND_PASS_SECONDS, speechMean: 1, hotWords: null };
  for (let turn = 0; turn <= turns; turn++) {
    const startedAtMs = performance.now();
    await flush.run();
    const [refined] = await model.refine([encoded]);
    const refinedAtMs = performance.now();
    await utterances.search(refined!.logProbs, refined!.frames, options);
    const searchedAtMs = performance.now();
    await utterances.decode(audio, options);
    if (turn === 0) continue;
    times.kept.push(searchedAtMs - startedAtMs);
    times.search.push(searchedAtMs - refinedAtMs);
    times.audio.push(performance.now() - searchedAtMs);
  }
  const middle = (values: readonly number[]) => percentiles(values, 3)?.p50 ?? 0;
  return {
    seconds: SECOND_PASS_SECONDS,
    keptMs: middle(times.kept),
    searchMs: middle(times.search),
    audioMs: middle(times.audio),
    raw: times,
  };
}

async function compare({ model, utterances }: Recognizer, rows: number, rounds: number) {
  const { frameSamples } = model.manifest;
  const stepper = new LiveStepper({ model, utterances, post: () => {}, onStep: () => {} });
  const noise = Int16Array.from(gaussianNoise(frameSamples, 1), (value) => value * HISS * 32_768);
  const rings = Array.from({ length: rows }, () => PcmRing.create(2 ** 17));
  for (const [session, ring] of rings.entries()) {
    stepper.onMessage(liveOpen(session, ring.buffer));
  }
  const feed = () => {
    for (const ring of rings) {
      ring.write(noise);
      ring.release(ring.written - frameSamples);
    }
  };
  const bare = model.stepBatch(rows, 1);
  const steps: Measured[] = [];
  const floors: Measured[] = [];
  for (let turn = 0; turn <= TURNS; turn++) {
    const step = await measure(rounds, feed, () => stepper.step());
    const floor = await measure(
      rounds,
      () => {},
      () => bare.run(),
    );
    // The first round warms up.
    if (turn > 0) {
      steps.push(step);
      floors.push(floor);
    }
  }
  const middle = (all: readonly Measured[]) =>
    percentiles(
      all.flatMap(({ stepsMs }) => stepsMs),
      4,
    )?.p50 ?? 0;
  const bytes = (all: readonly Measured[]) =>
    Math.round(all.reduce((total, { heapBytes }) => total + heapBytes, 0) / (all.length * rounds));
  const [stepMs, floorMs] = [middle(steps), middle(floors)];
  return {
    rows,
    stepMs,
    floorMs,
    ratio: floorMs / stepMs,
    bytesPerStep: bytes(steps),
    floorBytesPerRun: bytes(floors),
    raw: { steps, floors },
  };
}

async function measure(rounds: number, before: () => void, work: () => Promise<unknown>): Promise<Measured> {
  const stepsMs: number[] = [];
  let heapBytes = 0;
  let heapBefore = process.memoryUsage().heapUsed;
  for (let round = 0; round < rounds; round++) {
    before();
    const startedAtMs = performance.now();
    await work();
    stepsMs.push(performance.now() - startedAtMs);
    const heapNow = process.memoryUsage().heapUsed;
    heapBytes += Math.max(0, heapNow - heapBefore);
    heapBefore = process.memoryUsage().heapUsed;
  }
  return { stepsMs, heapBytes };
}
