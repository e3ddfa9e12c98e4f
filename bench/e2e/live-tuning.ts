import { fileURLToPath } from "node:url";
import type { BenchOptions } from "../bench-options.js";
import { table } from "../evaluate/report.js";
import { saveResult } from "../save-result.js";
import { percentiles } from "../support/percentiles.js";
import { recognizerIn } from "../support/recognizer.js";

const MODEL = fileURLToPath(new URL("../../../models/svc-kk-ru-v2", import.meta.url));
const THREADS = [1, 2];
const FRAMES = [1, 2, 4, 8, 16];
const ROWS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128];
/** Limit of a batch; larger ones would delay every other session by more than a frame. */
const MAX_BATCH_FRAMES = 256;
const RUNS = 30;

interface Shape {
  readonly threads: number;
  readonly frames: number;
  readonly rows: number;
  readonly stepMs: number;
  /**
   * Number of sessions that a worker could serve if it only ran steps: rows that fit into a chunk's duration.
   */
  readonly sessions: number;
}

/**
 * `npm run bench -- live-tuning`: the cost of a step by chunk, rows and threads per operator. The shapes in
 * `native/live/batch-shapes.ts` come from this table; `live-accuracy` compares silence thresholds.
 */
export async function run({ smoke }: BenchOptions): Promise<void> {
  const shapes: Shape[] = [];
  for (const threads of smoke ? [1] : THREADS) {
    const { model } = await recognizerIn(MODEL, threads);
    const chunkMs = (1_000 * model.manifest.frameSamples) / model.manifest.sampleRateHz;
    for (const frames of smoke ? [1] : FRAMES) {
      for (const rows of smoke ? [2] : ROWS) {
        if (rows * frames > MAX_BATCH_FRAMES) continue;
        const batch = model.stepBatch(rows, frames);
        const tookMs: number[] = [];
        for (let run = 0; run < (smoke ? 3 : RUNS); run++) {
          const startedAtMs = performance.now();
          await batch.run();
          // The first runs initialize kernels.
          if (smoke || run > 2) tookMs.push(performance.now() - startedAtMs);
        }
        const stepMs = percentiles(tookMs, 3)?.p50 ?? 0;
        shapes.push({ threads, frames, rows, stepMs, sessions: (rows * frames * chunkMs) / stepMs });
      }
    }
    await model.release();
  }
  for (const threads of new Set(shapes.map((shape) => shape.threads))) console.log(tableOf(shapes, threads));
  if (!smoke) await saveResult("live-tuning", { parameters: { runs: RUNS }, shapes });
}

function tableOf(shapes: readonly Shape[], threads: number): string {
  const own = shapes.filter((shape) => shape.threads === threads);
  const frames = [...new Set(own.map((shape) => shape.frames))];
  const rows = [...new Set(own.map((shape) => shape.rows))];
  const cells = rows.map((row) => [
    String(row),
    ...frames.map((frame) => {
      const found = own.find((shape) => shape.rows === row && shape.frames === frame);
      return found === undefined ? "" : `${found.stepMs.toFixed(2)} ms, ${Math.round(found.sessions)}`;
    }),
  ]);
  const head = ["rows", ...frames.map((frame) => `${frame * 40} ms a step`)];
  return `${threads} thread${threads > 1 ? "s" : ""}: time of a step, and sessions at that rate\n\n${table(head, cells)}\n`;
}
