import type { InferenceSession } from "onnxruntime-node";
import { type Graph, rowsOf } from "./graph-interface.js";
import type { OnRun } from "./run-times.js";

/** A session whose runs are told; the session itself when nobody listens. */
export function timed(session: InferenceSession, onRun: OnRun | null): Graph {
  if (onRun === null) return session;
  const { inputNames, outputNames, inputMetadata, outputMetadata } = session;
  return {
    ...{ inputNames, outputNames, inputMetadata, outputMetadata },
    run: (feeds, fetches) => {
      const startedAtMs = performance.now();
      const running = fetches === undefined ? session.run(feeds) : session.run(feeds, fetches);
      // A run that fails is its caller's, who awaits the same promise.
      running.then(
        () => onRun(performance.now() - startedAtMs, rowsOf(feeds)),
        () => {},
      );
      return running;
    },
    release: () => session.release(),
  };
}
