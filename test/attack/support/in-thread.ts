import { Worker } from "node:worker_threads";

const ENTRY = new URL("./in-thread-entry.js", import.meta.url);

/** Data with which a thread starts. */
export interface ThreadData {
  readonly module: string;
  readonly name: string;
  readonly args: unknown;
  readonly stopped: Int32Array;
}

/** Passed to a function on a thread after its arguments. */
export interface ThreadControl {
  readonly isStopped: boolean;
}

export interface ThreadRun<Result> {
  /** Result of the function. */
  readonly result: Promise<Result>;
  /** Asks the function to end soon. Settles with its result. */
  stop(): Promise<Result>;
}

/**
 * Calls `module`'s export `name` with `args`, which are copied, and a `ThreadControl`. Runs on a separate
 * thread, so that floods and probes do not wait for each other.
 * @param module `import.meta.url` of the file that exports the function, or a URL derived from it
 */
export function runInThread<Args, Result>(module: string | URL, name: string, args: Args): ThreadRun<Result> {
  const stopped = new Int32Array(new SharedArrayBuffer(4));
  const data: ThreadData = { module: String(module), name, args, stopped };
  const worker = new Worker(ENTRY, { workerData: data });
  const result = new Promise<Result>((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", (code) =>
      reject(new Error(`the thread of ${name} ended (${code}) without a result`)),
    );
  });
  // A test that only stops the thread gets a failure then.
  result.catch(() => {});
  const stop = () => {
    Atomics.store(stopped, 0, 1);
    return result;
  };
  return { result, stop };
}
