import { InferenceSession, Tensor } from "onnxruntime-node";
import type { PackageFolder } from "../../native/models/package.js";
import { GRAPH, MODEL, TYPES, writeInitializer, writeNode } from "../../src/models/onnx/graph-messages.js";
import { type Chunks, delimited, whole } from "../../src/models/onnx/wire.js";

/** Rows of a product, as of a window of 5 s, and its width, as in a large encoder. */
const ROWS = 128;
const WIDTH = 1_024;
const OPERATIONS = 2 * ROWS * WIDTH * WIDTH;
/** Processors that were idle take half a second to reach their full clock rate. */
const MEASURED_MS = 1_500;
const SMOKE_MEASURED_MS = 50;
/** Field numbers. @see onnx/onnx at v1.12.0, `onnx/onnx.proto` */
const IR_VERSION = 1;
const OPSET_VERSION = 2;
const VALUE = { name: 1, type: 2, tensor: 1, element: 1, shape: 2, dim: 1, size: 1 } as const;
const INT32 = 6;
/** Feature frames, of which an encoder joins as many as its manifest says. */
const FEATURES_PER_SECOND = 100;
/** Packages of `models quantize`, which leaves convolutions in fp32. */
const MIXED = "-own-int8";

export interface ProcessorSpeed {
  /** Operations (multiplications and additions) that one core does in a second. */
  readonly fp32: number;
  readonly int8: number;
}

/**
 * Measures how fast one core multiplies matrices in the runtime, the upper bound of a large graph's speed:
 * the fastest of many runs, since other work on the machine only slows them down.
 */
export async function processorSpeed({ smoke }: { readonly smoke: boolean }): Promise<ProcessorSpeed> {
  const measuredMs = smoke ? SMOKE_MEASURED_MS : MEASURED_MS;
  return {
    fp32: await speedOf(
      writeNode({ op: "MatMul", inputs: ["x", "w"], outputs: ["y"] }),
      { type: TYPES.float, content: [new Uint8Array(new Float32Array(WIDTH * WIDTH).fill(0.01).buffer)] },
      TYPES.float,
      measuredMs,
    ),
    int8: await speedOf(
      [
        ...writeNode({ op: "DynamicQuantizeLinear", inputs: ["x"], outputs: ["q", "scale", "zero"] }),
        ...writeNode({ op: "MatMulInteger", inputs: ["q", "w", "zero"], outputs: ["y"] }),
      ],
      { type: TYPES.int8, content: [new Uint8Array(WIDTH * WIDTH).fill(1)] },
      INT32,
      measuredMs,
    ),
  };
}

async function speedOf(
  nodes: Chunks,
  weights: { readonly type: number; readonly content: Chunks },
  outputType: number,
  measuredMs: number,
): Promise<number> {
  const graph = [
    ...nodes,
    ...writeInitializer({ name: "w", dims: [WIDTH, WIDTH], ...weights }),
    ...delimited(GRAPH.input, value("x", TYPES.float)),
    ...delimited(GRAPH.output, value("y", outputType)),
  ];
  const model = [
    whole(IR_VERSION, 8),
    ...delimited(MODEL.graph, graph),
    ...delimited(MODEL.opset, [whole(OPSET_VERSION, 13)]),
  ];
  const session = await InferenceSession.create(new Uint8Array(Buffer.concat(model)), {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
  });
  const x = new Tensor("float32", new Float32Array(ROWS * WIDTH).fill(0.5), [ROWS, WIDTH]);
  let fastestMs = Number.POSITIVE_INFINITY;
  const endMs = performance.now() + measuredMs;
  while (performance.now() < endMs) {
    const startedAtMs = performance.now();
    await session.run({ x });
    fastestMs = Math.min(fastestMs, performance.now() - startedAtMs);
  }
  await session.release();
  return (1_000 * OPERATIONS) / fastestMs;
}

/** A matrix of `ROWS` × `WIDTH` as a graph's input or output. */
function value(name: string, type: number): Uint8Array[] {
  const dims = [ROWS, WIDTH].flatMap((size) => delimited(VALUE.dim, [whole(VALUE.size, size)]));
  const tensor = [whole(VALUE.element, type), ...delimited(VALUE.shape, dims)];
  return [...delimited(VALUE.name, name), ...delimited(VALUE.type, delimited(VALUE.tensor, tensor))];
}

/**
 * Returns the least work of an encoder that uses each weight once a frame, and the speed of a core with it; null
 * without one whose frames are known, and for weights in both types.
 */
export function boundOf(
  manifest: PackageFolder["manifest"],
  weightsBytes: number,
  { fp32, int8 }: ProcessorSpeed,
) {
  const { subsampling } = manifest as { readonly subsampling?: number };
  if (subsampling === undefined || manifest.id.endsWith(MIXED)) return null;
  const isInt8 = manifest.id.endsWith("int8");
  const weights = weightsBytes / (isInt8 ? 1 : Float32Array.BYTES_PER_ELEMENT);
  const operationsPerAudioSecond = (2 * weights * FEATURES_PER_SECOND) / subsampling;
  const operationsPerSecond = isInt8 ? int8 : fp32;
  return {
    operationsPerAudioSecond,
    operationsPerSecond,
    /** Seconds of speech that a core can read once in a second. */
    speakersPerCore: operationsPerSecond / operationsPerAudioSecond,
  };
}

/** Writes a number of operations. */
export function billions(operations: number): string {
  return `${(operations / 1e9).toFixed(0)} billion`;
}
