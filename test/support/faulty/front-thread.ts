// A front thread that fails when a test orders it.
import { parentPort } from "node:worker_threads";
import { failThread, onOrder, whenReady } from "./orders.js";

whenReady(parentPort!, () => onOrder("front", () => setImmediate(failThread)));

await import("../../../src/front/threads/front-thread.js");
