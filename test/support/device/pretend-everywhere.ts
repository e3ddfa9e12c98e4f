// Loaded before everything else (`--import`): CUDA is pretended in all threads of a process but the first, which has no graphs.
import { isMainThread } from "node:worker_threads";

if (!isMainThread) (await import("./pretended.js")).pretendCuda();
