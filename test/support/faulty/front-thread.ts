// A front thread that fails on the order of a test.
import { parentPort } from "node:worker_threads";
import { failThread, onOrder, whenReady } from "./orders.js";

whenReady(parentPort!, () => onOrder("front", () => setImmediate(failThread)));

await import("../../../src/front/threads/front-thread.js");
