import type { SynthesisJob } from "../../core/ports/synthesizer.js";
import type { PieceModel } from "../../native/models/synthesizer.js";

/** A piece as a model returns it: in parts, with the times at which its characters are spoken. */
export interface GivenPiece {
  readonly samples: Float32Array;
  readonly parts: readonly number[];
  readonly bounds: Int32Array | null;
}

/** Synthesizes one piece. */
export async function speakPiece(
  model: PieceModel,
  job: SynthesisJob,
  checkpoint = () => Promise.resolve(),
): Promise<GivenPiece> {
  const given: Float32Array[] = [];
  const bounds = await model.speak(job, {
    signal: new AbortController().signal,
    checkpoint,
    give: (samples) => {
      given.push(samples.slice());
      return Promise.resolve();
    },
  });
  const samples = Float32Array.from(given.flatMap((part) => [...part]));
  return { samples, parts: given.map((part) => part.length), bounds };
}
