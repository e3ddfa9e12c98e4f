import type { InferenceSession } from "onnxruntime-node";

/** What an adapter expects of a graph; checked when it is loaded, so that a wrong file fails with its name. */
export interface GraphContract {
  readonly file: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /**
   * The first dimension of all its inputs and outputs is rows that do not depend on each other: where a device has no memory
   * for all of them, they may run in parts.
   */
  readonly isRowwise?: boolean;
}

/** A graph that is loaded, wherever it runs: the part of onnxruntime's session that adapters use. */
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

/** Rows of a run: the first dimension of its first input. */
export function rowsOf(feeds: InferenceSession.FeedsType): number {
  for (const name in feeds) return feeds[name]!.dims[0] ?? 1;
  return 1;
}
