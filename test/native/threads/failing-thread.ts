// A program whose thread fails in a microtask while a run waits for its turn; see `uncaught-errors.test.ts`.
import "../../../native/models/no-telemetry.js";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { endAfterMicrotasks } from "../../../native/threads/uncaught-errors.js";

const GRAPH = "test/fixtures/adapters/tiny-zipformer-transducer/decoder.onnx";

/** What the owner of the thread saw. */
export interface Seen {
  readonly messages: readonly string[];
  readonly errors: readonly string[];
}

async function observe(): Promise<Seen> {
  const messages: string[] = [];
  const errors: string[] = [];
  const worker = new Worker(new URL(import.meta.url));
  worker.on("message", (message: string) => messages.push(message));
  worker.on("error", (error: Error) => errors.push(error.message));
  await new Promise((resolve) => worker.once("exit", resolve));
  return { messages, errors };
}

async function fail(): Promise<void> {
  const session = await InferenceSession.create(GRAPH);
  const run = () => session.run({ y: new Tensor("int64", BigInt64Array.of(0n, 0n), [1, 2]) });
  parentPort!.postMessage("before");
  // Both enter the runtime in one turn of the event loop; the errors are thrown between them.
  const [first] = [run(), run()];
  await first;
  for (const name of ["first", "second"]) {
    queueMicrotask(() => {
      throw new Error(`the ${name} error`);
    });
  }
  queueMicrotask(() => parentPort!.postMessage("after"));
}

if (isMainThread) {
  process.stdout.write(JSON.stringify(await observe()));
} else {
  endAfterMicrotasks();
  await fail();
}
