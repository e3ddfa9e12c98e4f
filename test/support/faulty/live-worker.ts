// The live worker, which a test can make fail, in turn between two steps and before it posts a result.
import { parentPort } from "node:worker_threads";
import { failThread, type MessagePortLike, onOrder, whenReady } from "./orders.js";

const port: MessagePortLike = parentPort!;
const post = port.postMessage.bind(port);
let isResultLost = false;

port.postMessage = (message, transfer) => {
  if (isResultLost && (message as { readonly type?: unknown }).type === "answers") failThread();
  post(message, transfer);
};
whenReady(port, () =>
  onOrder("live", (nth) => {
    if (nth % 2 === 0) setImmediate(failThread);
    else isResultLost = true;
  }),
);

await import("../../../native/live/worker.js");
