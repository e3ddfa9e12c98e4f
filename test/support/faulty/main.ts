// Runs the service like `src/main.ts`. Worker threads fail on SIGUSR2, a front thread on SIGHUP.
import { runService } from "../../../src/service/process.js";
import { FAULTY_ENTRIES } from "./entries.js";
import { FaultOrders } from "./orders.js";

const orders = new FaultOrders();
process.on("SIGUSR2", () => {
  for (const module of ["live", "synthesis", "transcription"] as const) orders.failAll(module);
});
process.on("SIGHUP", () => orders.failOldest("front"));
runService({ entries: FAULTY_ENTRIES });
