import "./no-telemetry.js";
import { dirname } from "node:path";
import { InferenceSession } from "onnxruntime-node";
import { ServiceError } from "../../core/domain/errors.js";
import { checkGraphFiles, type GraphFiles, SHARED_FROM_BYTES } from "./graph-files.js";
import type { Graph, GraphContract } from "./graph-interface.js";
import { graphOverMappedWeights } from "./mapped-graph.js";
import type { SealedFolder } from "./package.js";
import { PlacedGraph } from "./placed-graph.js";
import { CPU_PLACEMENT, type Placement } from "./placement.js";
import { RunTimes } from "./run-times.js";
import { timed } from "./timed-graph.js";

export interface GraphOptions {
  /** Threads inside one operator; one is best when workers are as many as cores. */
  readonly intraOpThreads: number;
  /** The CPU when absent. */
  readonly placement?: Placement | undefined;
  /** Gets how long runs take, see `RunTimes`; nothing is timed when it is absent. */
  readonly runTimes?: SharedArrayBuffer | undefined;
}

/** Graphs of this size have their weights mapped from the file; below, nothing would be gained by it. */
const MAPPED_FROM_BYTES = 64 * 2 ** 20;

/**
 * Loads one graph of a package, by its path: its weights never lie in this process's heap, and those in side files are
 * found. A file that is changed between its hash and the end of the load is refused.
 * @throws {ServiceError} `MODEL_BROKEN` naming the file: wrong hash, damaged, or other tensors than the contract's
 * @throws {ProviderError} when another provider than the CPU does not take it
 */
export async function loadGraph(
  model: SealedFolder,
  contract: GraphContract,
  options: GraphOptions,
): Promise<Graph> {
  const { placement = CPU_PLACEMENT } = options;
  const files = await checkGraphFiles(model, contract.file, placement);
  const { name } = files;
  const onRun = RunTimes.writer(options.runTimes, model, contract.file);
  const graph =
    placement.provider === "cpu"
      ? timed(await onCpu(name, () => create(files, options, { executionProviders: ["cpu"] })), onRun)
      : await PlacedGraph.create({
          ...{ name, contract, placement, onRun },
          create: (session) => create(files, options, session),
        });
  try {
    await files.requireUnchanged();
    requireContract(graph, name, contract);
  } catch (error) {
    await graph.release();
    throw error;
  }
  return graph;
}

async function onCpu<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw new ServiceError("MODEL_BROKEN", `Cannot load ${name}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function create(
  files: GraphFiles,
  { intraOpThreads }: GraphOptions,
  place: InferenceSession.SessionOptions,
): Promise<InferenceSession> {
  const options = (session: object): InferenceSession.SessionOptions => ({
    ...place,
    intraOpNumThreads: intraOpThreads,
    interOpNumThreads: 1,
    graphOptimizationLevel: "all",
    // Spinning threads of one worker would take the core of another.
    extra: { session: { intra_op: { allow_spinning: "0" }, ...session } },
  });
  const packing = { disable_prepacking: files.byteCount < SHARED_FROM_BYTES ? "0" : "1" };
  // The runtime maps what lies in side files by itself.
  if (files.byteCount < MAPPED_FROM_BYTES || files.hasSideFiles) {
    return InferenceSession.create(files.path, options(packing));
  }
  const graph = await graphOverMappedWeights(files.path);
  const folder = { model_external_initializers_file_folder_path: dirname(files.path) };
  return InferenceSession.create(graph, options({ ...packing, ...folder }));
}

/** @throws {ServiceError} `MODEL_BROKEN` naming the file and the tensors that the graph lacks */
export function requireContract(graph: Graph, name: string, { inputs, outputs }: GraphContract): void {
  requireTensors(name, "inputs", inputs, graph.inputNames);
  requireTensors(name, "outputs", outputs, graph.outputNames);
}

function requireTensors(
  name: string,
  kind: "inputs" | "outputs",
  expected: readonly string[],
  found: readonly string[],
): void {
  const missing = expected.filter((tensor) => !found.includes(tensor));
  if (missing.length === 0) return;
  throw new ServiceError(
    "MODEL_BROKEN",
    `Cannot load ${name}: ${kind} must contain ${missing.join(", ")}, found ${found.join(", ")}`,
  );
}

/**
 * The dimensions a graph declares for a tensor: numbers where fixed, names where not; null when there is no such tensor.
 */
function dimensionsOf(graph: Graph, tensor: string): readonly (number | string)[] | null {
  const values = [...graph.inputMetadata, ...graph.outputMetadata];
  const found = values.find((value) => value.name === tensor);
  return found?.isTensor ? found.shape : null;
}

/**
 * The last dimension of a tensor, which the graph must declare as fixed.
 * @param name of the model or the file, for the error
 * @throws {ServiceError} `MODEL_BROKEN` naming the tensor
 */
export function lastDimension(graph: Graph, tensor: string, name: string): number {
  const size = dimensionsOf(graph, tensor)?.at(-1);
  if (typeof size === "number" && size > 0) return size;
  throw new ServiceError("MODEL_BROKEN", `Cannot load ${name}: last dimension of ${tensor} must be fixed`);
}

/**
 * Checks a dimension that the graph declares as fixed; one that it leaves open passes.
 * @throws {ServiceError} `MODEL_BROKEN` naming file and tensor
 */
export function requireDimension(
  graph: Graph,
  name: string,
  tensor: string,
  { axis, expected }: { readonly axis: number; readonly expected: number },
): void {
  const found = dimensionsOf(graph, tensor)?.at(axis);
  if (typeof found !== "number" || found < 0 || found === expected) return;
  throw new ServiceError(
    "MODEL_BROKEN",
    `Cannot load ${name}: dimension ${axis} of ${tensor} must be ${expected}, found ${found}`,
  );
}
