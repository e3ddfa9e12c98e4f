import { fileURLToPath } from "node:url";
import { PcmRing } from "../../native/ring/pcm-ring.js";
import { LiveStepper } from "../../native/worker/live-stepper.js";
import { loadRecognizer, type Recognizer } from "../../native/worker/load-recognizer.js";
import { gaussianNoise } from "../../src/domain/synthesis/noise.js";
import { saveResult } from "../save-result.js";
import { percentiles } from "../support/percentiles.js";

const MODEL = fileURLToPath(new URL("../../../models/svc-kk-ru-v2", import.meta.url));
const ROWS = [1, 8, 32, 64];
/** Alternating measurements, so that a change of the machine's mood meets both. */
const TURNS = 5;
/** Full scale being 1: nothing in it is taken for speech. */
const HISS = 0.0005;

interface Measured {
  readonly stepsMs: readonly number[];
  /** Bytes that the heap has grown by, garbage collections left out. */
  readonly heapBytes: number;
}

/**
 * `npm run bench -- live-step`: rounds of the live worker's stepper with so many sessions that keep up, beside the same
 * batch run in a tight loop. The ratio is what gathering, handing out and bookkeeping cost; bytes are what they leave to
 * the garbage collector.
 */
export async function run({ smoke }: { readonly smoke: boolean }): Promise<void> {
  const recognizer = await loadRecognizer({ modelFolder: MODEL, intraOpThreads: 1 });
  const figures = [];
  for (const rows of smoke ? [2] : ROWS) figures.push(await compare(recognizer, rows, smoke ? 5 : 60));
  for (const { rows, ratio, stepMs, floorMs, bytesPerStep, floorBytesPerRun } of figures) {
    console.log(
      `${String(rows).padStart(3)} sessions: step ${stepMs.toFixed(2)} ms, bare run ${floorMs.toFixed(2)} ms, ` +
        `floor over step ${ratio.toFixed(3)}; heap ${bytesPerStep} bytes a step, ${floorBytesPerRun} of a bare run`,
    );
  }
  await recognizer.model.release();
  if (!smoke) await saveResult("live-step", { parameters: { turns: TURNS, hiss: HISS }, figures });
}

async function compare({ model, utterances }: Recognizer, rows: number, rounds: number) {
  const { frameSamples } = model.manifest;
  const stepper = new LiveStepper({ model, utterances, post: () => {}, onStep: () => {} });
  const noise = Int16Array.from(gaussianNoise(frameSamples, 1), (value) => value * HISS * 32_768);
  const rings = Array.from({ length: rows }, () => PcmRing.create(2 ** 17));
  for (const [session, ring] of rings.entries()) {
    stepper.onMessage({
      type: "open",
      session,
      epoch: 1,
      ring: ring.buffer,
      from: { sample: 0, isMidSpeech: false },
      nextUtterance: 0,
      endOfUtteranceMs: 200,
      wantsPartials: true,
      hotWords: [],
    });
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
    // The first turn warms up.
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
