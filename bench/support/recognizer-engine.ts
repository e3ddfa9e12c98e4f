import { LiveEngine } from "../../actors/live/engine.js";
import { createLog } from "../../core/observe/log.js";
import { systemClock } from "../../core/ports/clock.js";
import { readManifest } from "../../native/models/find-packages.js";
import type { RecognizerManifest } from "../../native/models/manifest.js";
import { startLiveWorker } from "../../native/start-workers.js";

/** Creates a live engine for the recogniser in `modelFolder`, in this process, without starting it. */
export async function recognizerEngine(options: {
  readonly modelFolder: string;
  readonly workerCount?: number;
  readonly intraOpThreads?: number;
}): Promise<LiveEngine> {
  const { modelFolder, workerCount = 1, intraOpThreads = 1 } = options;
  const manifest = (await readManifest(modelFolder)) as RecognizerManifest;
  const settings = { modelFolder, intraOpThreads };
  return new LiveEngine({
    workerCount,
    startWorker: (cells, onMessage) => startLiveWorker(settings, cells, onMessage),
    contextSamples: manifest.contextFrames * manifest.frameSamples,
    sampleRateHz: manifest.sampleRateHz,
    clock: systemClock,
    log: createLog({ level: "warn" }),
  });
}
