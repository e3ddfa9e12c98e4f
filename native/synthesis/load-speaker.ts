import type { SynthesisJob } from "../../src/ports/synthesizer.js";
import { FlowMatching } from "../models/flow-matching/flow-matching.js";
import type { ModelPackage, SynthesizerManifest } from "../models/package.js";
import { loadPieceModel } from "../models/synthesizer-families.js";
import { PieceQueue } from "./piece-queue.js";
import { SharedSolver, type SolverRequest, type SolverSink } from "./shared-solver.js";

/** Makes the pieces of a worker, shared step by step or one after another, as the family allows. */
export interface PieceSpeaker {
  speak(request: SolverRequest): void;
  /** Answered with `gaveUp` if the job is still there. */
  cancel(jobId: number): void;
  /** Settles when no piece is left. */
  idle(): Promise<void>;
}

export interface SpeakerParts {
  readonly intraOpThreads: number;
  /** Pieces that may share a run. */
  readonly rows: number;
  /** See `SYNTHESIS_CELL`. */
  readonly cells: Int32Array;
  readonly sink: SolverSink;
}

/** Loads a synthesizer package and speaks a word, so that the first request does not pay for the kernels' setup. */
export async function loadSpeaker(
  modelPackage: ModelPackage<SynthesizerManifest>,
  { intraOpThreads, rows, cells, sink }: SpeakerParts,
): Promise<PieceSpeaker> {
  const warmUp = warmUpOf(modelPackage.manifest);
  const pieceModel = await loadPieceModel(modelPackage, { intraOpThreads });
  if (pieceModel !== null) {
    await pieceModel.speak(warmUp, () => Promise.resolve());
    return new PieceQueue(pieceModel, { cells, sink });
  }
  const model = await FlowMatching.load(modelPackage, { intraOpThreads });
  await model.speakAlone(warmUp);
  return new SharedSolver({ model, limits: { rows }, cells, sink });
}

function warmUpOf({ id, defaultVoice }: SynthesizerManifest): SynthesisJob {
  return { modelId: id, voice: defaultVoice, spokenText: "сәлем.", speed: 1, nfe: 2, seed: 0 };
}
