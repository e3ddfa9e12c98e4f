// The service as `src/main.ts` runs it, whose live workers lose their device on SIGUSR2.
import { runService } from "../../../src/service/process.js";
import { FaultOrders } from "../faulty/orders.js";
import { DEVICE_ENTRIES } from "./entries.js";

const orders = new FaultOrders();
process.on("SIGUSR2", () => orders.failAll("live"));
runService({ entries: DEVICE_ENTRIES });
