// Loaded first (`--import`): simulates CUDA in all threads but the first, which has no graphs.
import { isMainThread } from "node:worker_threads";

if (!isMainThread) (await import("./simulated-cuda.js")).simulateCuda();
