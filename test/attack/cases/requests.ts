import { type AttackCase, requestFlood } from "../support/attack-case.js";

const BURST = { connections: 2, unitsPerConnection: 20_000 };
/** None of these requests needs a key. */
const OPEN = { connections: 4, unitsPerConnection: 1 };

/** Requests that are cheap to send: bursts without waiting, and bodies that are expensive to read. */
export const REQUESTS: readonly AttackCase[] = [
  requestFlood("pipelined GET", { ...BURST, unit: () => get("/health") }),
  requestFlood("pipelined GET, unknown path", { ...BURST, unit: () => get("/nothing") }),
  requestFlood("pipelined POST without a key", { ...BURST, unit: () => post("/v1/tts", `{"text":"a"}`) }),
  requestFlood("pipelined heads of upgrades", {
    ...BURST,
    unit: () =>
      get("/v1/stream", "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"),
  }),
  requestFlood("halves of upgrades", {
    connections: 200,
    unitsPerConnection: 1,
    unit: () => "GET /v1/realtime HTTP/1.1\r\nHost: dauys.test\r\nUpgrade: web",
  }),
  requestFlood("long e-mail address", {
    ...OPEN,
    unit: () =>
      post(
        "/console/api/sign-in",
        JSON.stringify({ email: `a@${".".repeat(60_000)}@`, password: "longer than ten" }),
      ),
  }),
  requestFlood("long e-mail address within the limit", {
    ...OPEN,
    unit: () =>
      post(
        "/console/api/sign-in",
        JSON.stringify({ email: `a@${".".repeat(250)}@`, password: "longer than ten" }),
      ),
  }),
  requestFlood("5,000 signs to speak", {
    connections: 4,
    unitsPerConnection: 1,
    unit: (key) => post("/v1/tts", JSON.stringify({ text: "±@".repeat(2_500), nfe: 4, speed: 0.5 }), key),
  }),
  requestFlood("garbage in place of a request", { ...BURST, unit: () => "\u0000\u0001 garbage\r\n" }),
];

function get(path: string, headers = ""): string {
  return `GET ${path} HTTP/1.1\r\nHost: dauys.test\r\n${headers}\r\n`;
}

export function post(path: string, json: string, key?: string): string {
  const authorization = key === undefined ? "" : `Authorization: Bearer ${key}\r\n`;
  const head = `Host: dauys.test\r\n${authorization}Content-Type: application/json\r\n`;
  return `POST ${path} HTTP/1.1\r\n${head}Content-Length: ${Buffer.byteLength(json)}\r\n\r\n${json}`;
}
