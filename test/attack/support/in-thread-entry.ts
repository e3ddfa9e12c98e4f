// Entry of the threads of `runInThread`: imports the module and calls the function.
import { parentPort, workerData } from "node:worker_threads";
import type { ThreadControl, ThreadData } from "./in-thread.js";

type Exported = Readonly<Record<string, (args: unknown, control: ThreadControl) => Promise<unknown>>>;

const { module, name, args, stopped } = workerData as ThreadData;
const exported = (await import(module)) as Exported;
const control: ThreadControl = {
  get isStopped() {
    return Atomics.load(stopped, 0) === 1;
  },
};
const run = exported[name];
if (run === undefined) throw new Error(`${module} exports no ${name}`);
parentPort?.postMessage(await run(args, control));
// Exit explicitly, because open handles, such as sockets that the service holds, would keep the thread alive.
process.exit(0);
