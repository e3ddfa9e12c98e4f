import { paddedShapes, type RowsOfLength } from "../../core/domain/placement/shared-passes.js";
import type { RecognizerModel } from "../models/recognizer.js";

/** Length of the longest utterance or piece of a file, including its flush. */
const LONGEST_SECONDS = 31;

/** Runs the second pass in every shape, for providers that compile each one. */
export async function warmUpRefining(model: RecognizerModel, table: readonly RowsOfLength[]): Promise<void> {
  const { sampleRateHz, frameSamples } = model.manifest;
  const longest = Math.ceil((LONGEST_SECONDS * sampleRateHz) / frameSamples);
  for (const { rows, frames } of paddedShapes(table, longest)) {
    const encoded = new Float32Array(frames * model.encodedSize);
    await model.refine(Array.from({ length: rows }, () => encoded));
  }
}
