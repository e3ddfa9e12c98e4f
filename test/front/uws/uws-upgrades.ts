// Opens WebSockets on a front with slow upgrade decisions, and prints how many received the expected message.
import { WebSocket } from "ws";
import { DEFAULT_FRONT_LIMITS } from "../../../core/ports/front.js";
import { loadUwsBinding } from "../../../src/front/uws/load-binding.js";
import { UwsFront } from "../../../src/front/uws/uws-front.js";
import { pace } from "../../support/pace.js";

const TOLD = "told once open";
const count = Number(process.argv[2]);
const binding = loadUwsBinding();
if (typeof binding === "string") throw new Error(binding);
const front = new UwsFront(
  binding,
  {
    request: async () => {},
    upgrade: async () => {
      await pace(1);
      return {
        type: "accept",
        protocol: null,
        headers: { "x-request-id": "req_1" },
        open: (socket) => {
          queueMicrotask(() => socket.sendText(TOLD));
          return { text: () => socket.close(1000, "done"), binary: () => {}, closed: () => {} };
        },
      };
    },
    failed: (error) => {
      throw error;
    },
  },
  DEFAULT_FRONT_LIMITS,
);
const port = await front.listen("127.0.0.1", 0);
let heard = 0;
for (let nth = 0; nth < count; nth++) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`);
  const closed = new Promise<number>((resolve) => socket.once("close", resolve));
  socket.once("error", () => {});
  socket.once("message", () => socket.send("heard"));
  if ((await closed) === 1000) heard++;
}
await front.close(0);
console.log(JSON.stringify({ heard, lost: count - heard }));
