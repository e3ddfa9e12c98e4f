// Loaded first (`--import`). Simulates CUDA in all threads except the first, which has no graphs.
import { isMainThread } from "node:worker_threads";

if (!isMainThread) (await import("./simulated-cuda.js")).simulateCuda();
