import { type AttackCase, socketFlood, uploadFlood } from "../support/attack-case.js";
import { frame, OPCODE } from "../support/web-socket-client.js";

const EMPTY = new Uint8Array(0);
const ONE = new Uint8Array(1);
const text = (content: string) => frame(content, { opcode: OPCODE.text });
const STREAM = "/v1/stream";
const LISTEN = "/v1/listen";
const REALTIME = "/v1/realtime";
const TURNS = "/v2/listen";
const FORM_HEAD =
  '--b\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\n\r\n';

/** Frames of any socket that end its connection. */
const BROKEN_FRAMES: readonly ((path: string) => AttackCase)[] = [
  (path) =>
    socketFlood(`${path}: messages of 2 MiB`, {
      path,
      unit: frame(new Uint8Array(2 << 20), { opcode: OPCODE.text }),
      unitsPerSocket: 2,
    }),
  (path) =>
    socketFlood(`${path}: a frame of a terabyte`, {
      path,
      first: Buffer.from([0x82, 0xff, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
      unit: Buffer.alloc(1 << 16),
    }),
  (path) =>
    socketFlood(`${path}: text that is not UTF-8`, {
      path,
      unit: frame(Uint8Array.of(0xff), { opcode: OPCODE.text }),
      unitsPerSocket: 1,
    }),
];

/** Uploads in one-byte chunks, and live sockets that send the most expensive messages as fast as possible. */
export const FLOODS: readonly AttackCase[] = [
  // A baseline that shows the noise of the machine.
  { name: "nobody", run: async () => ({ count: 0, outcome: "nothing happens" }) },
  uploadFlood("one-byte chunks, raw", {
    path: "/v1/transcribe",
    contentType: "application/octet-stream",
    chunkBytes: 1,
    connections: 2,
    contentBytes: 35_000_000,
    comesBack: true,
  }),
  uploadFlood("one-byte chunks, form", {
    path: "/v1/audio/transcriptions",
    contentType: "multipart/form-data; boundary=b",
    first: FORM_HEAD,
    chunkBytes: 1,
    connections: 2,
    contentBytes: 35_000_000,
    comesBack: true,
  }),
  uploadFlood("one-byte chunks, form for events", {
    path: "/v1/audio/transcriptions",
    contentType: "multipart/form-data; boundary=b",
    first: `--b\r\nContent-Disposition: form-data; name="stream"\r\n\r\ntrue\r\n${FORM_HEAD}`,
    chunkBytes: 1,
    connections: 2,
    contentBytes: 35_000_000,
    comesBack: true,
  }),
  uploadFlood("one-byte chunks, in Deepgram's shape", {
    path: LISTEN,
    contentType: "application/octet-stream",
    chunkBytes: 1,
    connections: 2,
    contentBytes: 35_000_000,
    comesBack: true,
  }),
  socketFlood("garbage text", { unit: text("{") }),
  socketFlood("long garbage text", { unit: text(`${"[".repeat(10_000)}`) }),
  socketFlood("one-byte audio", { unit: frame(ONE, { opcode: OPCODE.binary }) }),
  socketFlood("empty audio", { unit: frame(EMPTY, { opcode: OPCODE.binary }) }),
  socketFlood("one-sample audio, msgpack", {
    path: "/v1/stream?encoding=msgpack",
    unit: frame(new Uint8Array(2), { opcode: OPCODE.binary }),
  }),
  socketFlood("audio of 5 ms", { unit: frame(new Uint8Array(160), { opcode: OPCODE.binary }) }),
  socketFlood("finalize", { unit: text('{"type":"finalize"}') }),
  socketFlood("audio and finalize", {
    unit: Buffer.concat([frame(new Uint8Array(640), { opcode: OPCODE.binary }), text('{"type":"finalize"}')]),
  }),
  socketFlood("keepalive", { unit: text('{"type":"keepalive"}') }),
  socketFlood("unknown messages", { unit: text('{"type":"x"}') }),
  socketFlood("empty text", { unit: text("") }),
  socketFlood("pings", { unit: frame(EMPTY, { opcode: OPCODE.ping }) }),
  socketFlood("long pings, nothing read", {
    unit: frame(new Uint8Array(125), { opcode: OPCODE.ping }),
    isDeaf: true,
  }),
  ...[STREAM, LISTEN, TURNS, REALTIME].flatMap((path) => BROKEN_FRAMES.map((broken) => broken(path))),
  ...[LISTEN, TURNS, REALTIME].map((path) =>
    socketFlood(`${path}: long pings, nothing read`, {
      path,
      unit: frame(new Uint8Array(125), { opcode: OPCODE.ping }),
      isDeaf: true,
    }),
  ),
  socketFlood("pongs", { unit: frame(EMPTY, { opcode: OPCODE.pong }) }),
  socketFlood("a message in one-byte fragments", {
    first: frame(ONE, { opcode: OPCODE.binary, isFinal: false }),
    unit: frame(ONE, { opcode: OPCODE.continuation, isFinal: false }),
  }),
  socketFlood("a message in empty fragments", {
    first: frame(EMPTY, { opcode: OPCODE.text, isFinal: false }),
    unit: frame(EMPTY, { opcode: OPCODE.continuation, isFinal: false }),
  }),
  socketFlood("pings between fragments", {
    first: frame(ONE, { opcode: OPCODE.binary, isFinal: false }),
    unit: Buffer.concat([
      frame(EMPTY, { opcode: OPCODE.ping }),
      frame(ONE, { opcode: OPCODE.continuation, isFinal: false }),
    ]),
  }),
  socketFlood("realtime: garbage text", { path: REALTIME, unit: text("{") }),
  socketFlood("realtime: long garbage text", { path: REALTIME, unit: text(`${"[".repeat(10_000)}`) }),
  socketFlood("realtime: commits", { path: REALTIME, unit: text('{"type":"input_audio_buffer.commit"}') }),
  socketFlood("realtime: one sample", {
    path: REALTIME,
    unit: text('{"type":"input_audio_buffer.append","audio":"AAA="}'),
  }),
  socketFlood("realtime: audio that is no base64", {
    path: REALTIME,
    unit: text(`{"type":"input_audio_buffer.append","audio":"${"*".repeat(10_000)}"}`),
  }),
  socketFlood("realtime: clears", { path: REALTIME, unit: text('{"type":"input_audio_buffer.clear"}') }),
  socketFlood("realtime: updates", {
    path: REALTIME,
    unit: text('{"type":"session.update","session":{"type":"transcription"}}'),
  }),
  socketFlood("turns: garbage text", { path: TURNS, unit: text("{") }),
  socketFlood("turns: one-byte audio", { path: TURNS, unit: frame(ONE, { opcode: OPCODE.binary }) }),
  socketFlood("turns: audio and ForceEndTurn", {
    path: TURNS,
    unit: Buffer.concat([
      frame(new Uint8Array(640), { opcode: OPCODE.binary }),
      text('{"type":"ForceEndTurn"}'),
    ]),
  }),
  socketFlood("turns: Configure", { path: TURNS, unit: text('{"type":"Configure"}') }),
  socketFlood("turns: pings", { path: TURNS, unit: frame(EMPTY, { opcode: OPCODE.ping }) }),
  socketFlood("listen: garbage text", { path: LISTEN, unit: text("{") }),
  socketFlood("listen: one-byte audio", { path: LISTEN, unit: frame(ONE, { opcode: OPCODE.binary }) }),
  socketFlood("listen: Finalize", { path: LISTEN, unit: text('{"type":"Finalize"}') }),
  socketFlood("listen: KeepAlive", { path: LISTEN, unit: text('{"type":"KeepAlive"}') }),
  socketFlood("listen: odd sample rate", {
    path: `${LISTEN}?sample_rate=47999`,
    unit: frame(ONE, { opcode: OPCODE.binary }),
    unitsPerSocket: 1,
  }),
];
