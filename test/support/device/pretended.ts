import { InferenceSession } from "onnxruntime-node";
import { isDeviceGone } from "./gone.js";

/** What the device does with its next runs. */
export type DeviceFault =
  | "none"
  /** Every run fails from now on, as after a fault of a kernel. */
  | "gone"
  /** There is memory for one row alone. */
  | "one-row"
  /** There is memory for none. */
  | "no-memory";

let fault: DeviceFault = isDeviceGone() ? "gone" : "none";

export function setDeviceFault(next: DeviceFault): void {
  fault = next;
}

/** What onnxruntime says of CUDA, word for word but for the place. */
const GONE =
  "CUDA failure 719: unspecified launch failure ; GPU=0 ; hostname=test ; file=cuda_call.cc ; line=129 ; expr=cudaStreamSynchronize";
const NO_MEMORY =
  "Non-zero status code returned while running MatMul node. Name:'x' Status Message: bfc_arena.cc:376 " +
  "Failed to allocate memory for requested buffer of size 1073741824";

/**
 * From now on sessions for CUDA are made on the CPU in this thread: what a machine without a GPU can show of
 * everything that is not the GPU itself. Their runs, and those of every provider but the CPU, fail as
 * `setDeviceFault` says.
 */
export function pretendCuda(): void {
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
    if (fault === "gone") return Promise.reject(new Error(GONE));
    if (fault === "no-memory" || (fault === "one-row" && rows > 1))
      return Promise.reject(new Error(NO_MEMORY));
    return run(feeds, ...others);
  };
  return Object.assign(session, { run: faulty });
}

interface Graphs {
  run(feeds: InferenceSession.FeedsType, ...others: readonly unknown[]): Promise<InferenceSession.ReturnType>;
}
