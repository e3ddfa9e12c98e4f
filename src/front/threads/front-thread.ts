// Entry of a front thread. It runs the native front on a shared port; the main thread handles the requests.
import { parentPort, workerData } from "node:worker_threads";
import type { FrontHandlers, FrontRequest, UpgradeDecision } from "../../../core/ports/front.js";
import { RecordRing } from "../../../native/ring/record-ring.js";
import { loadUwsBinding } from "../uws/load-binding.js";
import { UwsFront } from "../uws/uws-front.js";
import {
  type FromFrontThread,
  type FrontThreadData,
  type ToFrontThread,
  toWireError,
  type WireDecision,
} from "./protocol.js";
import { headOf, ThreadExchanges } from "./thread-exchanges.js";
import { ThreadSockets } from "./thread-sockets.js";

const MAX_ID = 2 ** 31 - 1;

if (parentPort === null) throw new Error("front-thread is started by threaded-front");
const port = parentPort;
const data = workerData as FrontThreadData;
const exchanges = new ThreadExchanges(post);
const sockets = new ThreadSockets(RecordRing.attach(data.inbox), new Int32Array(data.taken), () =>
  post({ type: "bell" }),
);
const upgrades = new Map<number, (decision: WireDecision) => void>();
let lastId = 0;
let isEnding = false;

const handlers: FrontHandlers = {
  request: (request, response) => exchanges.run(nextId(), request, response),
  upgrade,
  failed: (error) => post({ type: "report", error: toWireError(error) }),
};

const binding = loadUwsBinding();
if (typeof binding === "string") throw new Error(binding);
const front = new UwsFront(binding, handlers, data.limits, {
  sharesPort: true,
  ownDescriptors: data.ownDescriptors,
});

// The native library must close its sockets before the thread ends; otherwise the whole process is aborted.
process.on("uncaughtException", (error) => {
  try {
    post({ type: "failed", error: toWireError(error) });
  } catch {
    // The failure cannot be posted, but the exit code reports it.
  }
  void end(0, 1);
});
port.on("message", (message: ToFrontThread) => {
  switch (message.type) {
    case "sockets":
      return sockets.carryOut(message.orders);
    case "decided":
      return upgrades.get(message.id)?.(message.decision);
    case "close":
      return void end(message.graceMs, 0);
    default:
      return exchanges.carryOut(message);
  }
});

await front.listen(data.host, data.port);
post({ type: "ready" });

async function upgrade(request: FrontRequest): Promise<UpgradeDecision> {
  const id = nextId();
  const decided = new Promise<WireDecision>((resolve) => upgrades.set(id, resolve));
  const onAbort = () => post({ type: "aborted", id });
  request.signal.addEventListener("abort", onAbort, { once: true });
  post({ type: "upgrade", id, head: headOf(request) });
  const decision = await decided;
  upgrades.delete(id);
  if (decision.type === "refuse") return decision;
  return {
    ...decision,
    open: (socket) => {
      request.signal.removeEventListener("abort", onAbort);
      return sockets.open(id, socket, decision.keepsMessages);
    },
  };
}

/** Returns an ID that no open socket has, however long that socket has been open. */
function nextId(): number {
  do lastId = lastId === MAX_ID ? 1 : lastId + 1;
  while (sockets.has(lastId) || upgrades.has(lastId));
  return lastId;
}

async function end(graceMs: number, exitCode: number): Promise<void> {
  if (isEnding) return;
  isEnding = true;
  try {
    await front.close(graceMs);
    sockets.flush();
  } finally {
    process.exit(exitCode);
  }
}

function post(message: FromFrontThread, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
}
