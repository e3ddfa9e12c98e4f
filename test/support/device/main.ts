// The service as `src/main.ts` runs it, whose live workers lose their device on SIGUSR2: for good, as a process does.
import { runService } from "../../../src/service/process.js";
import { FaultOrders } from "../faulty/orders.js";
import { DEVICE_ENTRIES } from "./entries.js";
import { loseDevice } from "./gone.js";

const orders = new FaultOrders();
process.on("SIGUSR2", () => {
  loseDevice();
  orders.failAll("live");
});
runService({ entries: DEVICE_ENTRIES });
