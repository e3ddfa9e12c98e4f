import { pino } from "pino";
import { SynthesisEngine } from "../../actors/engine/synthesis-engine.js";
import { FlowMatching } from "../../native/onnx/flow-matching.js";
import { readPackage, type SynthesizerManifest } from "../../native/onnx/model-package.js";
import { startSynthesisWorker } from "../../native/worker/start-workers.js";
import { SpeechError } from "../../src/domain/errors.js";
import { systemClock } from "../../src/ports/clock.js";
import type { SynthesisJob } from "../../src/ports/synthesizer.js";

/** What the engine adds to the model, measured on one worker without a service around it. */
export interface EngineFigures {
  /** Share of the worker's wall time inside the runtime while pieces wait. */
  readonly busyShare: number;
  /** Wall time of the same pieces by the bare model, one after another / the engine's. */
  readonly floorShare: number;
  /** Model runs that were begun after each cancel. */
  readonly runsAfterCancel: readonly number[];
  /** Wall time of one first piece by the bare model, whole: the floor of first audio. */
  readonly bareFirstPieceMs: Readonly<Record<string, number>>;
}

export async function measureEngine(options: {
  readonly modelFolder: string;
  readonly rows: number;
  readonly texts: readonly string[];
  readonly nfe: number;
  readonly cancels: number;
}): Promise<EngineFigures> {
  const { modelFolder, rows, nfe } = options;
  const modelPackage = await readPackage<SynthesizerManifest>(modelFolder, "synthesis");
  const jobs = options.texts.map(
    (spokenText, seed): SynthesisJob => ({
      modelId: modelPackage.manifest.id,
      voice: modelPackage.manifest.defaultVoice,
      spokenText,
      speed: 1,
      nfe,
      seed,
    }),
  );
  let busyMs = 0;
  const engine = new SynthesisEngine({
    workerCount: 1,
    startWorker: (shared, onMessage) => {
      return startSynthesisWorker(
        { modelFolder, intraOpThreads: 1, allowFaults: false, rows },
        shared,
        onMessage,
      );
    },
    sampleRateHz: modelPackage.manifest.sampleRateHz,
    observer: {
      ran: (_runs, _rows, ranMs) => {
        busyMs += ranMs;
      },
      pieces: () => {},
    },
    clock: systemClock,
    log: pino({ level: "warn" }),
  });
  await engine.start();
  const speakAll = async () => {
    const startedAtMs = performance.now();
    await Promise.all(jobs.map((job) => engine.speak(job, new AbortController().signal)));
    return performance.now() - startedAtMs;
  };
  await speakAll();
  busyMs = 0;
  const sharedMs = await speakAll();
  const busyShare = busyMs / sharedMs;
  const runsAfterCancel: number[] = [];
  for (let round = 0; round < options.cancels; round++) {
    runsAfterCancel.push(await runsAfter(engine, jobs[round % jobs.length]!, 10 + 17 * round));
  }
  await engine.stop();
  const model = await FlowMatching.load(modelPackage, { intraOpThreads: 1 });
  for (const job of jobs) await model.speakAlone(job);
  const startedAtMs = performance.now();
  for (const job of jobs) await model.speakAlone(job);
  const floorShare = (performance.now() - startedAtMs) / sharedMs;
  const bareFirstPieceMs: Record<string, number> = {};
  for (const steps of [16, 32]) {
    const times: number[] = [];
    for (let round = 0; round < 5; round++) {
      const before = performance.now();
      await model.speakAlone({ ...jobs[0]!, nfe: steps });
      times.push(performance.now() - before);
    }
    bareFirstPieceMs[steps] = times.sort((a, b) => a - b)[2]!;
  }
  await model.release();
  return { busyShare, floorShare, runsAfterCancel, bareFirstPieceMs };
}

async function runsAfter(engine: SynthesisEngine, job: SynthesisJob, waitMs: number): Promise<number> {
  const abort = new AbortController();
  const spoken = engine.speak({ ...job, nfe: 64 }, abort.signal).then(
    () => {},
    (error: unknown) => {
      if (!(error instanceof SpeechError && error.code === "CANCELLED")) throw error;
    },
  );
  await new Promise((resolve) => setTimeout(resolve, waitMs));
  const before = engine.modelRuns;
  abort.abort();
  await spoken;
  await new Promise((resolve) => setTimeout(resolve, 50));
  return engine.modelRuns - before;
}
