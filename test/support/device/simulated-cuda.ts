import { InferenceSession } from "onnxruntime-node";
import { isDeviceLost } from "./lost.js";

/** How the next runs on the device behave. */
export type DeviceFault =
  | "none"
  /** Every run fails, as after a fault of a kernel. */
  | "lost"
  /** There is memory for only one row. */
  | "one-row"
  /** There is no memory. */
  | "no-memory";

let fault: DeviceFault = isDeviceLost() ? "lost" : "none";

export function setDeviceFault(next: DeviceFault): void {
  fault = next;
}

/** The messages of onnxruntime for CUDA, except for the place. */
const LOST =
  "CUDA failure 719: unspecified launch failure ; GPU=0 ; hostname=test ; file=cuda_call.cc ; line=129 ; expr=cudaStreamSynchronize";
const NO_MEMORY =
  "Non-zero status code returned while running MatMul node. Name:'x' Status Message: bfc_arena.cc:376 " +
  "Failed to allocate memory for requested buffer of size 1073741824";

/**
 * From now on creates the CUDA sessions of this thread on the CPU, to test everything except the GPU itself
 * without one. Runs on every provider except the CPU fail as `setDeviceFault` says.
 */
export function simulateCuda(): void {
  const create = InferenceSession.create.bind(InferenceSession) as (
    model: string,
    options: InferenceSession.SessionOptions,
  ) => Promise<InferenceSession>;
  const pretended = async (model: string, options: InferenceSession.SessionOptions) => {
    const [first] = options.executionProviders ?? [];
    const provider = typeof first === "object" ? first.name : first;
    if (provider === "cpu") return create(model, options);
    const executionProviders = provider === "cuda" ? ["cpu"] : (options.executionProviders ?? []);
    return failing(await create(model, { ...options, executionProviders }));
  };
  Object.assign(InferenceSession, { create: pretended });
}

function failing(session: InferenceSession): InferenceSession {
  const run = session.run.bind(session) as Graphs["run"];
  const faulty: Graphs["run"] = (feeds, ...others) => {
    const rows = Object.values(feeds)[0]?.dims[0] ?? 1;
    if (fault === "lost") return Promise.reject(new Error(LOST));
    if (fault === "no-memory" || (fault === "one-row" && rows > 1))
      return Promise.reject(new Error(NO_MEMORY));
    return run(feeds, ...others);
  };
  return Object.assign(session, { run: faulty });
}

interface Graphs {
  run(feeds: InferenceSession.FeedsType, ...others: readonly unknown[]): Promise<InferenceSession.ReturnType>;
}
