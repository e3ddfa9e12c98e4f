import { InferenceSession } from "onnxruntime-node";
import { SpeechError } from "../../src/domain/errors.js";
import { type ModelPackage, readPackageFile } from "./model-package.js";

/** What an adapter expects of a graph; checked when it is loaded, so that a wrong file fails with its name. */
export interface GraphContract {
  readonly file: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

export interface GraphOptions {
  /** Threads inside one operator; one is best when workers are as many as cores. */
  readonly intraOpThreads: number;
}

/**
 * Loads one graph of a package on the CPU provider.
 * @throws {SpeechError} `MODEL_BROKEN` naming the file: wrong hash, damaged, or other tensors than the contract's
 */
export async function loadGraph(
  model: ModelPackage,
  contract: GraphContract,
  options: GraphOptions,
): Promise<InferenceSession> {
  const bytes = await readPackageFile(model, contract.file);
  const name = `${model.manifest.id}/${model.manifest.files[contract.file]?.path}`;
  let graph: InferenceSession;
  try {
    graph = await InferenceSession.create(bytes, {
      executionProviders: ["cpu"],
      intraOpNumThreads: options.intraOpThreads,
      interOpNumThreads: 1,
      graphOptimizationLevel: "all",
      // Spinning threads of one worker would take the core of another.
      extra: { session: { intra_op: { allow_spinning: "0" } } },
    });
  } catch (error) {
    throw new SpeechError("MODEL_BROKEN", `Cannot load ${name}: ${(error as Error).message}`, {
      cause: error,
    });
  }
  requireTensors(name, "inputs", contract.inputs, graph.inputNames);
  requireTensors(name, "outputs", contract.outputs, graph.outputNames);
  return graph;
}

function requireTensors(
  name: string,
  kind: "inputs" | "outputs",
  expected: readonly string[],
  found: readonly string[],
): void {
  const missing = expected.filter((tensor) => !found.includes(tensor));
  if (missing.length === 0) return;
  throw new SpeechError(
    "MODEL_BROKEN",
    `Cannot load ${name}: ${kind} must contain ${missing.join(", ")}, found ${found.join(", ")}`,
  );
}
