// Writes numbered records into a ring that another thread drains.
import { parentPort, workerData } from "node:worker_threads";
import { RecordRing } from "../../native/ring/record-ring.js";

const { buffer, count } = workerData as { readonly buffer: SharedArrayBuffer; readonly count: number };
const ring = RecordRing.attach(buffer);
for (let index = 0; index < count; index++) {
  const bytes = new Uint8Array(index % 300).fill(index % 256);
  while (!ring.write(index % 7, index, bytes)) ring.waitForRoom(100);
  if (ring.needsBell()) parentPort?.postMessage("bell");
}
