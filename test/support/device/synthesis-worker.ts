// The synthesis worker on a simulated device, which a test can make fail.
import { parentPort } from "node:worker_threads";
import { onOrder, whenReady } from "../faulty/orders.js";
import { setDeviceFault, simulateCuda } from "./simulated-cuda.js";

simulateCuda();
whenReady(parentPort!, () => onOrder("synthesis", () => setDeviceFault("lost")));

await import("../../../native/synthesis/worker.js");
