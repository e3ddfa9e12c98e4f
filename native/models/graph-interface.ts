import type { InferenceSession } from "onnxruntime-node";

/** The tensors that an adapter expects; checked at load, so that a wrong file is reported by its name. */
export interface GraphContract {
  readonly file: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /**
   * Whether all inputs and outputs are independent rows, so that rows may run in parts if a device lacks
   * memory.
   */
  readonly isRowwise?: boolean;
}

/** A loaded graph on any provider: the part of onnxruntime's session that adapters use. */
export interface Graph
  extends Pick<
    InferenceSession,
    "inputNames" | "outputNames" | "inputMetadata" | "outputMetadata" | "release"
  > {
  run(
    feeds: InferenceSession.FeedsType,
    fetches?: InferenceSession.FetchesType,
  ): Promise<InferenceSession.ReturnType>;
}

/** Returns the rows of a run: the first dimension of its first input. */
export function rowsOf(feeds: InferenceSession.FeedsType): number {
  for (const name in feeds) return feeds[name]!.dims[0] ?? 1;
  return 1;
}
