import type { ChunkRules } from "../../../core/domain/synthesis/solver-chunks.js";
import type { SynthesisJob } from "../../../core/ports/synthesizer.js";
import type { FlowMatching } from "./flow-matching.js";

/** Speaks a whole piece in batches of one, without a scheduler: for warm-up, benchmarks and tests. */
export async function speakAlone(
  model: FlowMatching,
  job: SynthesisJob,
  schedule?: Float64Array,
  chunkRules?: ChunkRules,
): Promise<Float32Array> {
  const piece = await model.begin(job, schedule, chunkRules);
  const parts: Float32Array[] = [];
  for (let start: number | undefined; model.isUnsolved(piece); ) {
    await model.solveChunk(piece);
    start ??= piece.trim?.start;
    if (start === undefined) continue;
    for (let window = model.windowOf(piece, start); window !== null; window = model.windowOf(piece, start)) {
      parts.push(...(await model.vocode([{ piece, window }])));
      start = window.end;
    }
  }
  const { hopSamples } = model.manifest;
  const { silentFramesBefore, silentFramesAfter } = model.trimOf(piece);
  const soundSamples = parts.reduce((sum, { length }) => sum + length, 0);
  const silentFrames = silentFramesBefore + silentFramesAfter;
  const samples = new Float32Array(soundSamples + silentFrames * hopSamples);
  let offset = silentFramesBefore * hopSamples;
  for (const part of parts) {
    samples.set(part, offset);
    offset += part.length;
  }
  return samples;
}
