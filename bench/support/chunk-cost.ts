import { join } from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import type { PackageFolder } from "../../native/models/package.js";
import { recognizerIn } from "./recognizer.js";

const SECOND_SAMPLES = 16_000;
/** Streams whose chunks share a run. */
const STREAMS = [1, 2, 4, 8, 16];
/** Processors that were idle take half a second to reach their full clock rate. */
const WARM_UP_MS = 500;

/** Time that one core needs for the encoder of a graph that streams. */
export interface ChunkCosts {
  /** Length of a chunk's audio. */
  readonly chunkSeconds: number;
  readonly runs: readonly {
    readonly streams: number;
    /** The fastest run, divided by its streams. */
    readonly chunkMs: number;
    /** Speakers that a core could read if it did nothing else. */
    readonly speakersPerCore: number;
  }[];
}

/**
 * Measures how fast one core runs a streaming encoder, alone and for several streams in a run: the bound for
 * a worker that did nothing else. The fastest of many runs counts, since other work on the machine only slows
 * them down.
 */
export async function chunkCosts(
  { folder, manifest }: PackageFolder,
  measuredMs = 1_500,
): Promise<ChunkCosts> {
  const chunkSeconds = await secondsOfChunk(folder);
  const { path } = (manifest.files["encoder"] ?? manifest.files["model"])!;
  const session = await InferenceSession.create(join(folder, path), {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
  });
  const runs = [];
  await fastestMs(session, 1, WARM_UP_MS);
  for (const streams of STREAMS) {
    const chunkMs = (await fastestMs(session, streams, measuredMs)) / streams;
    runs.push({ streams, chunkMs, speakersPerCore: (1_000 * chunkSeconds) / chunkMs });
  }
  await session.release();
  return { chunkSeconds, runs };
}

/** Renders the costs as one line. */
export function showChunkCosts({ chunkSeconds, runs }: ChunkCosts): string {
  const costs = runs.map(({ streams, chunkMs, speakersPerCore }) => {
    return `${chunkMs.toFixed(1)} ms (${speakersPerCore.toFixed(1)}) with ${streams}`;
  });
  return `a chunk of ${chunkSeconds.toFixed(2)} s takes at least, by streams in a run (speakers a core): ${costs.join(", ")}`;
}

async function secondsOfChunk(folder: string): Promise<number> {
  const { model } = await recognizerIn(folder);
  const reader = model.reader!;
  const reading = reader.begin();
  const { start, end } = reader.next(reading);
  await reader.read(reading, new Float32Array(end - start));
  const following = reader.next(reading);
  await model.release();
  return (following.end - end) / SECOND_SAMPLES;
}

async function fastestMs(session: InferenceSession, streams: number, forMs: number): Promise<number> {
  const feeds = Object.fromEntries(session.inputMetadata.map((input) => [input.name, zeros(input, streams)]));
  let fastest = Number.POSITIVE_INFINITY;
  const endMs = performance.now() + forMs;
  while (performance.now() < endMs) {
    const startedAtMs = performance.now();
    await session.run(feeds);
    fastest = Math.min(fastest, performance.now() - startedAtMs);
  }
  return fastest;
}

/** Makes an input whose open dimension, the batch, is the number of streams. */
function zeros(input: InferenceSession.ValueMetadata, streams: number): Tensor {
  if (!input.isTensor) throw new Error(`input ${input.name} must be a tensor`);
  const dims = input.shape.map((size) => (typeof size === "number" && size > 0 ? size : streams));
  const count = dims.reduce((product, size) => product * size, 1);
  switch (input.type) {
    case "float32":
      return new Tensor(input.type, new Float32Array(count), dims);
    case "float16":
      return new Tensor(input.type, new Uint16Array(count), dims);
    case "int32":
      return new Tensor(input.type, new Int32Array(count), dims);
    case "int64":
      return new Tensor(input.type, new BigInt64Array(count), dims);
    default:
      throw new Error(`input ${input.name} must have floats or integers, found ${input.type}`);
  }
}
