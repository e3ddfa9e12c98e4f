import { parentPort } from "node:worker_threads";

/**
 * Makes an uncaught error end the calling thread after its microtasks, not inside one. The owner gets the
 * same error, but no messages that are posted after it.
 *
 * When a microtask throws (`queueMicrotask`), Node stops the thread's environment, yet the other callbacks of
 * that turn of the event loop still run. If one of them is a run of onnxruntime-node, its calls into
 * JavaScript fail, and its C++ exception ends the whole process (`Napi::Error`, SIGABRT). After an error in a
 * tick, no callback runs.
 */
export function endAfterMicrotasks(): void {
  let isEnding = false;
  const onError = (error: unknown): void => {
    // The remaining microtasks may throw too.
    if (isEnding) return;
    isEnding = true;
    // Their messages assume that the owner got those before.
    parentPort?.close();
    process.nextTick(() => {
      process.off("uncaughtException", onError);
      throw error;
    });
  };
  process.on("uncaughtException", onError);
}
