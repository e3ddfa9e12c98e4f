import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../../core/observe/log.js";
import type { FrontHandlers } from "../../core/ports/front.js";
import { NodeFront } from "../../src/front/node/node-front.js";
import { selectFront } from "../../src/front/select-front.js";
import { ThreadedFront } from "../../src/front/threads/threaded-front.js";
import { loadUwsBinding } from "../../src/front/uws/load-binding.js";
import { UwsFront } from "../../src/front/uws/uws-front.js";
import { frontContract } from "./front-contract.js";

const binding = loadUwsBinding();

frontContract("node", (handlers, limits) => new NodeFront(handlers, limits));
if (typeof binding !== "string") {
  frontContract("uws", (handlers, limits) => new UwsFront(binding, handlers, limits));
  const log = createLog({ level: "silent" });
  frontContract(
    "uws in two threads",
    (handlers, limits) => new ThreadedFront({ threadCount: 2, handlers, limits, log }),
    { inThreads: true },
  );
}

const NO_HANDLERS: FrontHandlers = {
  request: async () => {},
  upgrade: async () => ({ type: "refuse", status: 404, headers: {}, body: "" }),
  failed: () => {},
};

test("auto uses the native front if its binding loads; explicit names override it", () => {
  assert.equal(selectFront("auto", NO_HANDLERS).kind, typeof binding === "string" ? "node" : "uws");
  assert.equal(selectFront("node", NO_HANDLERS).kind, "node");
});
