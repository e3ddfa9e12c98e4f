import { LiveEngine } from "../../actors/live/engine.js";
import { readManifest } from "../../native/models/find-packages.js";
import type { RecognizerManifest } from "../../native/models/manifest.js";
import { startLiveWorker } from "../../native/start-workers.js";
import { createLog } from "../../src/observe/log.js";
import { systemClock } from "../../src/ports/clock.js";

/** A live engine of the recogniser in `modelFolder`, in this process, not started yet. */
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
