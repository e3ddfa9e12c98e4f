import "./no-telemetry.js";
import { dirname } from "node:path";
import { InferenceSession } from "onnxruntime-node";
import { checkGraphFiles, type GraphFiles, SHARED_FROM_BYTES } from "./graph-files.js";
import { type Graph, type GraphContract, rowsOf } from "./graph-interface.js";
import { graphOverMappedWeights } from "./mapped-graph.js";
import { brokenModel, type SealedFolder } from "./package.js";
import { PlacedGraph } from "./placed-graph.js";
import { CPU_PLACEMENT, type Placement } from "./placement.js";
import { type OnRun, RunTimes } from "./run-times.js";

export interface GraphOptions {
  /** Threads per operator; 1 is best with as many workers as cores. */
  readonly intraOpThreads: number;
  readonly placement?: Placement | undefined;
  /** Receives the durations of runs, see `RunTimes`. */
  readonly runTimes?: SharedArrayBuffer | undefined;
}

/** Size from which a graph's weights are mapped from the file; smaller graphs gain nothing from it. */
const MAPPED_FROM_BYTES = 64 * 2 ** 20;

/**
 * Loads a graph of a package by path, so that its weights never enter this process's heap, and side files are
 * found. Rejects a file that changes between its hash check and the end of the load.
 * @throws {ServiceError} `MODEL_BROKEN` with the file: wrong hash, damaged, or other tensors than in the
 *   contract
 * @throws {ProviderError} if a provider other than the CPU rejects it
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
    throw brokenModel(`Cannot load ${name}: ${(error as Error).message}`, error);
  }
}

/** Reports the duration of each run; returns the session itself if there is no listener. */
function timed(session: InferenceSession, onRun: OnRun | null): Graph {
  if (onRun === null) return session;
  const { inputNames, outputNames, inputMetadata, outputMetadata } = session;
  return {
    ...{ inputNames, outputNames, inputMetadata, outputMetadata },
    run: (feeds, fetches) => {
      const startedAtMs = performance.now();
      const running = fetches === undefined ? session.run(feeds) : session.run(feeds, fetches);
      // The caller awaits the same promise and handles its failure.
      running.then(
        () => onRun(performance.now() - startedAtMs, rowsOf(feeds)),
        () => {},
      );
      return running;
    },
    release: () => session.release(),
  };
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
    // A spinning thread would take a core from another worker.
    extra: { session: { intra_op: { allow_spinning: "0" }, ...session } },
  });
  const packing = { disable_prepacking: files.byteCount < SHARED_FROM_BYTES ? "0" : "1" };
  // The runtime maps side files itself.
  if (files.byteCount < MAPPED_FROM_BYTES || files.hasSideFiles) {
    return InferenceSession.create(files.path, options(packing));
  }
  const graph = await graphOverMappedWeights(files.path);
  const folder = { model_external_initializers_file_folder_path: dirname(files.path) };
  return InferenceSession.create(graph, options({ ...packing, ...folder }));
}

/** @throws {ServiceError} `MODEL_BROKEN` with the file and the missing tensors */
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
  const rule = `${kind} must contain ${missing.join(", ")}, found ${found.join(", ")}`;
  throw brokenModel(`Cannot load ${name}: ${rule}`);
}

/** Returns a tensor's declared dimensions: numbers if fixed, else names; null without such a tensor. */
function dimensionsOf(graph: Graph, tensor: string): readonly (number | string)[] | null {
  const values = [...graph.inputMetadata, ...graph.outputMetadata];
  const found = values.find((value) => value.name === tensor);
  return found?.isTensor ? found.shape : null;
}

/**
 * Returns the last dimension of a tensor, which must be fixed.
 * @param name model or file, for the error
 * @throws {ServiceError} `MODEL_BROKEN` with the tensor
 */
export function lastDimension(graph: Graph, tensor: string, name: string): number {
  const size = dimensionsOf(graph, tensor)?.at(-1);
  if (typeof size === "number" && size > 0) return size;
  throw brokenModel(`Cannot load ${name}: last dimension of ${tensor} must be fixed`);
}

/**
 * Returns a dimension that must be fixed.
 * @throws {ServiceError} `MODEL_BROKEN` with the file and the tensor
 */
export function requireFixed(graph: Graph, name: string, tensor: string, axis: number): number {
  const size = dimensionsOf(graph, tensor)?.at(axis);
  if (typeof size === "number" && size > 0) return size;
  throw brokenModel(`Cannot load ${name}: dimension ${axis} of ${tensor} must be fixed`);
}

/**
 * Checks that a dimension is in a range; one that the graph leaves open passes.
 * @throws {ServiceError} `MODEL_BROKEN` with the file and the tensor
 */
export function requireDimensionWithin(
  graph: Graph,
  name: string,
  tensor: string,
  range: { readonly axis: number; readonly least: number; readonly most: number },
): void {
  const { axis, least, most } = range;
  const found = dimensionsOf(graph, tensor)?.at(axis);
  if (typeof found !== "number" || found < 0 || (found >= least && found <= most)) return;
  throw brokenModel(
    `Cannot load ${name}: dimension ${axis} of ${tensor} must be ${least} to ${most}, found ${found}`,
  );
}

/**
 * Checks a dimension; one that the graph leaves open passes.
 * @throws {ServiceError} `MODEL_BROKEN` with the file and the tensor
 */
export function requireDimension(
  graph: Graph,
  name: string,
  tensor: string,
  { axis, expected }: { readonly axis: number; readonly expected: number },
): void {
  const found = dimensionsOf(graph, tensor)?.at(axis);
  if (typeof found !== "number" || found < 0 || found === expected) return;
  throw brokenModel(
    `Cannot load ${name}: dimension ${axis} of ${tensor} must be ${expected}, found ${found}`,
  );
}
