// The service as `src/main.ts` runs it, with threads that fail: its engines' on SIGUSR2, a front thread on SIGHUP.
import { runService } from "../../../src/service/process.js";
import { FAULTY_ENTRIES } from "./entries.js";
import { FaultOrders } from "./orders.js";

const orders = new FaultOrders();
process.on("SIGUSR2", () => {
  for (const room of ["live", "synthesis", "transcription"] as const) orders.failAll(room);
});
process.on("SIGHUP", () => orders.failOldest("front"));
runService({ entries: FAULTY_ENTRIES });
