// Runs the service like `src/main.ts`. On SIGUSR2 its live workers lose their device for good.
import { runService } from "../../../src/service/process.js";
import { FaultOrders } from "../faulty/orders.js";
import { DEVICE_ENTRIES } from "./entries.js";
import { loseDevice } from "./lost.js";

const orders = new FaultOrders();
process.on("SIGUSR2", () => {
  loseDevice();
  orders.failAll("live");
});
runService({ entries: DEVICE_ENTRIES });
