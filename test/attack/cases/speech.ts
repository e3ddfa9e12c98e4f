import { type AttackCase, requestFlood, socketFlood } from "../support/attack-case.js";
import { frame, OPCODE } from "../support/web-socket-client.js";
import { post } from "./requests.js";

const text = (message: object) => frame(JSON.stringify(message), { opcode: OPCODE.text });
const SPEAK = "/v1/speak";
const TTS_LIVE = "/v1/tts/live";
/** Two minutes of silence: 5.8 MB without a model, more than the buffers of a socket hold. */
const STILL = `Сәлем. ${"[pause 10s] ".repeat(12)}Сәлем. `;
const PRONUNCIATIONS = Array.from({ length: 100 }, (_, nth) => {
  return { word: `${"a".repeat(50)}${nth}`, say: "9".repeat(60) };
});
const GARBAGE = frame("{", { opcode: OPCODE.text });
/** Each takes one of the organization's places until it ends. */
const UNREAD = { connections: 8, unitsPerConnection: 1, isDeaf: true };

/** Speaking sockets, and streams of speech that nobody reads. */
export const SPEECH: readonly AttackCase[] = [
  socketFlood("speak: garbage text", { path: SPEAK, unit: GARBAGE }),
  socketFlood("speak: letters", { path: SPEAK, unit: text({ type: "Speak", text: "а" }) }),
  socketFlood("speak: sentences that are cleared", {
    path: SPEAK,
    unit: Buffer.concat([text({ type: "Speak", text: "Сәлем. " }), text({ type: "Clear" })]),
  }),
  socketFlood("speak: speech, nothing read", {
    path: SPEAK,
    first: Buffer.concat([text({ type: "Speak", text: STILL.repeat(4) }), text({ type: "Flush" })]),
    unit: text({ type: "KeepAlive" }),
    isDeaf: true,
  }),
  socketFlood("tts/live: garbage text", { path: TTS_LIVE, unit: GARBAGE }),
  socketFlood("tts/live: letters", { path: TTS_LIVE, unit: text({ type: "text", text: "а" }) }),
  socketFlood("tts/live: sentences that are cancelled", {
    path: TTS_LIVE,
    unit: Buffer.concat([text({ type: "text", text: "Сәлем. " }), text({ type: "cancel" })]),
  }),
  socketFlood("tts/live: pronunciations", {
    path: TTS_LIVE,
    unit: text({ type: "options", pronunciations: PRONUNCIATIONS }),
  }),
  socketFlood("tts/live: speech, nothing read", {
    path: TTS_LIVE,
    first: Buffer.concat([text({ type: "text", text: STILL.repeat(4) }), text({ type: "flush" })]),
    unit: text({ type: "keepalive" }),
    isDeaf: true,
  }),
  requestFlood("tts/stream: speech, nothing read", {
    ...UNREAD,
    unit: (key) => post("/v1/tts/stream", JSON.stringify({ text: STILL, nfe: 4 }), key),
  }),
  requestFlood("tts/stream: garbage", {
    ...UNREAD,
    isDeaf: false,
    unit: (key) => post("/v1/tts/stream", `{"text":"${"[".repeat(60_000)}`, key),
  }),
  requestFlood("events of speech, nothing read", {
    ...UNREAD,
    unit: (key) => post("/v1/audio/speech", speechForEvents(), key),
  }),
  requestFlood("POST /v1/speak: speech, nothing read", {
    ...UNREAD,
    unit: (key) => post(SPEAK, JSON.stringify({ text: STILL }), key),
  }),
];

function speechForEvents(): string {
  const format = { response_format: "pcm", stream_format: "sse" };
  return JSON.stringify({ model: "tts-1", input: STILL, ...format });
}
