import { pino } from "pino";
import { SynthesisEngine } from "../../actors/synthesis/engine.js";
import { ServiceError } from "../../core/domain/errors.js";
import { USUAL_ROWS } from "../../core/domain/placement/batch-rows.js";
import { systemClock } from "../../core/ports/clock.js";
import type { SynthesisJob } from "../../core/ports/synthesizer.js";
import { readPackage } from "../../native/models/find-packages.js";
import { FlowMatching } from "../../native/models/flow-matching/flow-matching.js";
import type { FlowMatchingContents } from "../../native/models/flow-matching/manifest.js";
import { speakAlone } from "../../native/models/flow-matching/speak-alone.js";
import type { MelSynthesizerManifest } from "../../native/models/manifest.js";
import { startSynthesisWorker } from "../../native/start-workers.js";

/** The engine's overhead over the model, on one worker without a service. */
export interface EngineFigures {
  /** Share of the worker's wall time inside the runtime while pieces wait. */
  readonly busyShare: number;
  /** Wall time of the same pieces, bare model one by one / engine; median of alternating rounds. */
  readonly floorShare: number;
  readonly rounds: readonly { readonly engineMs: number; readonly bareMs: number; readonly busyMs: number }[];
  /** Number of model runs started after each cancellation. */
  readonly runsAfterCancel: readonly number[];
}

export async function measureEngine(options: {
  readonly modelFolder: string;
  readonly rows: number;
  readonly texts: readonly string[];
  readonly nfe: number;
  readonly rounds: number;
  readonly cancels: number;
}): Promise<EngineFigures> {
  const { modelFolder, rows, nfe } = options;
  const modelPackage = await readPackage<MelSynthesizerManifest, FlowMatchingContents>(
    modelFolder,
    "synthesis",
  );
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
  const { sampleRateHz } = modelPackage.manifest;
  const engine = oneWorkerEngine({ modelFolder, rows, sampleRateHz }, (ranMs) => {
    busyMs += ranMs;
  });
  await engine.start();
  const model = await FlowMatching.load(modelPackage, { intraOpThreads: 1 });
  const byEngine = async () => {
    await Promise.all(jobs.map((job) => engine.speak(job, new AbortController().signal)));
  };
  const byModel = async () => {
    for (const job of jobs) await speakAlone(model, job);
  };
  await byEngine();
  await byModel();
  // Alternate, so that other load affects both equally.
  const rounds: { engineMs: number; bareMs: number; busyMs: number }[] = [];
  for (let round = 0; round < options.rounds; round++) {
    busyMs = 0;
    const engineMs = await timed(byEngine);
    rounds.push({ engineMs, busyMs, bareMs: await timed(byModel) });
  }
  await model.release();
  const busyShare = median(rounds.map((round) => round.busyMs / round.engineMs));
  const floorShare = median(rounds.map(({ bareMs, engineMs }) => bareMs / engineMs));
  const runsAfterCancel: number[] = [];
  for (let round = 0; round < options.cancels; round++) {
    runsAfterCancel.push(await runsAfter(engine, jobs[round % jobs.length]!, 10 + 17 * round));
  }
  await engine.stop();
  return { busyShare, floorShare, rounds, runsAfterCancel };
}

function oneWorkerEngine(
  options: { readonly modelFolder: string; readonly rows: number; readonly sampleRateHz: number },
  onRan: (ranMs: number) => void,
): SynthesisEngine {
  const { modelFolder, rows, sampleRateHz } = options;
  const rowsOn = () => ({ ...USUAL_ROWS, solverRows: rows, windowRows: rows });
  return new SynthesisEngine({
    workerCount: 1,
    startWorker: (shared, onMessage) =>
      startSynthesisWorker({ modelFolder, intraOpThreads: 1, rowsOn }, shared, onMessage),
    sampleRateHz,
    observer: { ran: (_runs, _rows, ranMs) => onRan(ranMs), pieces: () => {} },
    clock: systemClock,
    log: pino({ level: "warn" }),
  });
}

/** Milliseconds of the bare model until the first sound of a piece in chunks. */
export interface FirstChunkMs {
  /** Time of the encoder and condition graphs over the whole piece. */
  readonly beginMs: number;
  /** Time of all steps of the first chunk. */
  readonly stepsMs: number;
  /** Time of the first window of the vocoder. */
  readonly vocodeMs: number;
  readonly totalMs: number;
}

/** Measures the bare model: the lower bound of first audio. */
export interface BareSpeaker {
  /** Speaks a whole piece. */
  speakMs(spokenText: string, nfe: number): Promise<number>;
  firstChunkMs(spokenText: string, nfe: number): Promise<FirstChunkMs>;
  release(): Promise<void>;
}

export async function bareSpeaker(modelFolder: string): Promise<BareSpeaker> {
  const modelPackage = await readPackage<MelSynthesizerManifest, FlowMatchingContents>(
    modelFolder,
    "synthesis",
  );
  const model = await FlowMatching.load(modelPackage, { intraOpThreads: 1 });
  const { id: modelId, defaultVoice: voice } = modelPackage.manifest;
  const jobOf = (spokenText: string, nfe: number) => ({ modelId, voice, spokenText, speed: 1, nfe, seed: 1 });
  return {
    speakMs: (spokenText, nfe) => timed(() => speakAlone(model, jobOf(spokenText, nfe))),
    async firstChunkMs(spokenText, nfe) {
      const startedAtMs = performance.now();
      const piece = await model.begin({ ...jobOf(spokenText, nfe), chunking: "growing" });
      const begunAtMs = performance.now();
      while (model.isUnsolved(piece) && piece.trim === null) await model.solveChunk(piece);
      const solvedAtMs = performance.now();
      await model.vocode([{ piece, window: model.windowOf(piece, model.trimOf(piece).start)! }]);
      const vocodedAtMs = performance.now();
      return {
        beginMs: begunAtMs - startedAtMs,
        stepsMs: solvedAtMs - begunAtMs,
        vocodeMs: vocodedAtMs - solvedAtMs,
        totalMs: vocodedAtMs - startedAtMs,
      };
    },
    release: () => model.release(),
  };
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const startedAtMs = performance.now();
  await act();
  return performance.now() - startedAtMs;
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

async function runsAfter(engine: SynthesisEngine, job: SynthesisJob, waitMs: number): Promise<number> {
  const abort = new AbortController();
  const spoken = engine.speak({ ...job, nfe: 64 }, abort.signal).then(
    () => {},
    (error: unknown) => {
      if (!(error instanceof ServiceError && error.code === "CANCELLED")) throw error;
    },
  );
  await new Promise((resolve) => setTimeout(resolve, waitMs));
  const before = engine.modelRuns;
  abort.abort();
  await spoken;
  await new Promise((resolve) => setTimeout(resolve, 50));
  return engine.modelRuns - before;
}
