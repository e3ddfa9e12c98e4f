// The live worker on a device that is pretended, and gone when a test orders it.
import { parentPort } from "node:worker_threads";
import { onOrder, whenReady } from "../faulty/orders.js";
import { pretendCuda, setDeviceFault } from "./pretended.js";

pretendCuda();
whenReady(parentPort!, () => onOrder("live", () => setDeviceFault("gone")));

await import("../../../native/live/worker.js");
