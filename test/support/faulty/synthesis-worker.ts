// The synthesis worker, which fails in the middle of its work when a test requests it.
import { parentPort, workerData } from "node:worker_threads";
import { SYNTHESIS_CELL, type WorkerData } from "../../../native/threads/protocol.js";
import { failThread, onOrder, whenReady } from "./orders.js";

const cells = new Int32Array((workerData as WorkerData).cells);

whenReady(parentPort!, () => onOrder("synthesis", failAfterNextRun));

/**
 * Waits for a run that starts after the order, and for the following turn of the event loop. The wait keeps
 * neither an idle thread awake nor a stopped thread alive.
 */
function failAfterNextRun(): void {
  const runs = Atomics.load(cells, SYNTHESIS_CELL.runs);
  const look = () => {
    if (Atomics.load(cells, SYNTHESIS_CELL.runs) !== runs) setImmediate(failThread);
    else setImmediate(look).unref();
  };
  look();
}

await import("../../../native/synthesis/worker.js");
