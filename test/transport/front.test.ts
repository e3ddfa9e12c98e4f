import assert from "node:assert/strict";
import { test } from "node:test";
import type { FrontHandlers } from "../../src/ports/front.js";
import { NodeFront } from "../../src/transport/node-front.js";
import { selectFront } from "../../src/transport/select-front.js";
import { loadUwsBinding } from "../../src/transport/uws-binding.js";
import { UwsFront } from "../../src/transport/uws-front.js";
import { frontContract } from "./front-contract.js";

const binding = loadUwsBinding();

frontContract("node", (handlers, limits) => new NodeFront(handlers, limits));
if (typeof binding !== "string") {
  frontContract("uws", (handlers, limits) => new UwsFront(binding, handlers, limits));
}

const NO_HANDLERS: FrontHandlers = {
  request: async () => {},
  upgrade: async () => ({ type: "refuse", status: 404, headers: {}, body: "" }),
  failed: () => {},
};

test("auto takes the native front where its binding loads, and names are taken at their word", () => {
  assert.equal(selectFront("auto", NO_HANDLERS).kind, typeof binding === "string" ? "node" : "uws");
  assert.equal(selectFront("node", NO_HANDLERS).kind, "node");
});
