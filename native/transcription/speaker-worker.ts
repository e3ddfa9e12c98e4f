import { type SpeakerTurn, speakerTurns } from "../../core/domain/diarization/speaker-turns.js";
import type { SpeakerWindow } from "../../core/domain/diarization/windows.js";
import { ServiceError } from "../../core/domain/errors.js";
import { diarizationFamilyOf } from "../models/families.js";
import type { GraphOptions } from "../models/graph.js";
import type { DiarizationManifest } from "../models/manifest.js";
import type { ModelPackage } from "../models/package.js";
import type { SpeakerModel } from "../models/speaker-model.js";
import type { SpeakerTask } from "../threads/protocol.js";
import { openAudio } from "./file-audio.js";
import { obeyCell } from "./task-cell.js";

type HearTask = Extract<SpeakerTask, { type: "hear-speakers" }>;
type GroupTask = Extract<SpeakerTask, { type: "group-speakers" }>;

/** Performs a worker's speaker tasks; loads the model for the first one. */
export class SpeakerWorker {
  readonly #package: ModelPackage<DiarizationManifest> | null;
  readonly #options: GraphOptions;
  #model: Promise<SpeakerModel> | null = null;

  /** @param options number of threads; the graphs always run on the CPU */
  constructor(
    model: ModelPackage<DiarizationManifest> | null,
    { intraOpThreads }: Pick<GraphOptions, "intraOpThreads">,
  ) {
    this.#package = model;
    this.#options = { intraOpThreads };
  }

  /** @throws {ServiceError} `DIARIZATION_UNAVAILABLE`, `MODEL_BROKEN`, `CANCELLED` */
  async perform(task: SpeakerTask): Promise<readonly SpeakerWindow[] | readonly SpeakerTurn[]> {
    if (this.#package === null)
      throw new ServiceError("DIARIZATION_UNAVAILABLE", "this worker has no diarization model");
    if (task.type === "group-speakers") return turnsOf(task, this.#package.manifest);
    this.#model ??= diarizationFamilyOf(this.#package.manifest).load(this.#package, this.#options);
    return hearWindows(task, await this.#model);
  }
}

async function hearWindows(task: HearTask, model: SpeakerModel): Promise<readonly SpeakerWindow[]> {
  const { windowSamples, shiftSamples, sampleRateHz } = model.manifest;
  const audio = await openAudio(task.source, sampleRateHz);
  try {
    const windows: SpeakerWindow[] = [];
    for (let window = task.firstWindow; window < task.endWindow; window++) {
      obeyCell(new Int32Array(task.cell));
      const start = window * shiftSamples;
      const samples = await audio.read({ start, end: start + windowSamples });
      windows.push(await model.hearWindow(samples, audio.sampleCount - start));
    }
    return windows;
  } finally {
    await audio.close();
  }
}

function turnsOf(task: GroupTask, manifest: DiarizationManifest): readonly SpeakerTurn[] {
  const { windows, sampleCount, speakerCount } = task;
  const { clusterThreshold: threshold, leastTurnSeconds, leastGapSeconds } = manifest;
  const cell = new Int32Array(task.cell);
  return speakerTurns(windows, {
    ...{ shape: manifest, sampleCount, speakerCount, threshold, leastTurnSeconds, leastGapSeconds },
    checkpoint: () => obeyCell(cell),
  });
}
