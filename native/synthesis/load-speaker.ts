import type { BatchRows } from "../../core/domain/placement/batch-rows.js";
import { ON_CPU, preparesShapes } from "../../core/domain/placement/provider.js";
import type { SynthesisJob } from "../../core/ports/synthesizer.js";
import { synthesizerFamilyOf } from "../models/families.js";
import { speakAlone } from "../models/flow-matching/speak-alone.js";
import type { GraphOptions } from "../models/graph.js";
import type { SynthesizerManifest } from "../models/manifest.js";
import type { ModelPackage } from "../models/package.js";
import { PieceQueue } from "./piece-queue.js";
import { SharedSolver, type SolverRequest, type SolverSink } from "./shared-solver.js";

/** Synthesizes a worker's pieces: concurrently in shared runs, or one by one, depending on the family. */
export interface PieceSpeaker {
  speak(request: SolverRequest): void;
  /** Calls `gaveUp` if the job is not done yet. */
  cancel(jobId: number): void;
  idle(): Promise<void>;
  /** Frees the graphs' memory; nothing may run afterwards. */
  release(): Promise<void>;
}

export interface SpeakerParts extends GraphOptions {
  readonly rows: Pick<BatchRows, "solverRows" | "windowRows">;
  readonly cells: Int32Array;
  readonly sink: SolverSink;
}

/**
 * With more rows, the last listeners of a burst hear their first sound sooner, but the first ones later
 * (README).
 */
const FIRST_CHUNK_ROWS = 4;

/** Loads a synthesizer package and speaks a word to warm up. */
export async function loadSpeaker(
  modelPackage: ModelPackage<SynthesizerManifest>,
  { rows, cells, sink, ...options }: SpeakerParts,
): Promise<PieceSpeaker> {
  const warmUp = warmUpOf(modelPackage.manifest);
  const loaded = await synthesizerFamilyOf(modelPackage.manifest).load(modelPackage, options);
  if (loaded.shares === "nothing") {
    await loaded.model.speak(warmUp, { signal: NEVER, checkpoint: nothing, give: nothing });
    return new PieceQueue(loaded.model, { cells, sink });
  }
  await speakAlone(loaded.model, warmUp);
  const { provider } = options.placement ?? ON_CPU;
  if (provider !== "cpu") {
    const lengths = preparesShapes(provider) ? "every octave" : "the shortest";
    await loaded.model.warmUp(
      { ...warmUp, nfe: WARM_UP_STEPS },
      Math.max(rows.solverRows, FIRST_CHUNK_ROWS),
      lengths,
    );
  }
  return new SharedSolver({
    model: loaded.model,
    limits: { rows: rows.solverRows, windowRows: rows.windowRows, firstChunkRows: FIRST_CHUNK_ROWS },
    cells,
    sink,
  });
}

/** Number of steps, at least the number of lengths to warm up. */
const WARM_UP_STEPS = 16;
const NEVER = new AbortController().signal;
const nothing = () => Promise.resolve();

function warmUpOf({ id, defaultVoice }: SynthesizerManifest): SynthesisJob {
  return { modelId: id, voice: defaultVoice, spokenText: "сәлем.", speed: 1, nfe: 2, seed: 0 };
}
