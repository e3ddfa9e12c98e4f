import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";

const RATE_HZ = 16_000;
/** Number of messages between partials, to send about as many as the service: eight a second. */
const MESSAGES_PER_PARTIAL = 3;

export interface StubDelays {
  /**
   * Delay from the last sample of a sentence that is not zero to its final, and from the first one to a
   * partial.
   */
  readonly finalMs: number;
  readonly partialMs: number;
}

export interface StubWire {
  readonly url: string;
  /** Returns the number of sessions opened so far. */
  sessions(): number;
  /** Settle when the next session opens, and when the next final has been sent. */
  nextSession(): Promise<void>;
  nextFinal(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts a live service of our wire that answers with known delays: a sentence is whatever is not digital
 * silence, and its final is sent `finalMs` after its last sample was due.
 */
export async function startStubWire(delays: StubDelays, text: string): Promise<StubWire> {
  const server = createServer((_, response) => {
    response.end("{}");
  });
  const sockets = new WebSocketServer({ server, perMessageDeflate: false });
  const happened = new EventEmitter();
  const next = async (name: string) => {
    await once(happened, name);
  };
  let sessions = 0;
  sockets.on("connection", (socket) => {
    sessions++;
    happened.emit("session");
    serve(socket, delays, text, () => happened.emit("final"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sessions: () => sessions,
    nextSession: () => next("session"),
    nextFinal: () => next("final"),
    close: async () => {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function serve(
  socket: WebSocket,
  { finalMs, partialMs }: StubDelays,
  text: string,
  onFinal: () => void,
): void {
  const send = (message: object) => socket.send(JSON.stringify(message));
  send({ type: "ready", sample_rate: RATE_HZ });
  // When the first sample was due: the message that arrived with the least delay shows it best.
  let startedAtMs = Number.POSITIVE_INFINITY;
  const at = (second: number, delayMs: number, work: () => void) =>
    setTimeout(work, startedAtMs + second * 1_000 + delayMs - performance.now());
  let samples = 0;
  let messages = 0;
  let utterance = 0;
  let start: number | null = null;
  socket.on("message", (data: Buffer, isBinary) => {
    if (!isBinary) {
      const seconds = samples / RATE_HZ;
      // Finals that are still due precede the last message.
      at(seconds, finalMs, () => {
        send({ type: "done", audio_seconds: seconds, credits_charged: Math.ceil(seconds * 6) });
        socket.close();
      });
      return;
    }
    const before = samples;
    samples += data.length / 2;
    startedAtMs = Math.min(startedAtMs, performance.now() - (1_000 * samples) / RATE_HZ);
    if (start === null) {
      const first = firstSound(data);
      if (first === null) return;
      start = (before + first) / RATE_HZ;
      messages = 0;
    }
    if (data.readInt16LE(data.length - 2) !== 0) {
      const partial = { type: "partial", utterance, text, start, end: samples / RATE_HZ, stable: 0 };
      const isFirst = messages === 0;
      if (messages++ % MESSAGES_PER_PARTIAL === 0)
        at(isFirst ? start : samples / RATE_HZ, partialMs, () => send(partial));
      return;
    }
    const end = (before + lastSound(data) + 1) / RATE_HZ;
    const final = { type: "final", utterance: utterance++, text, start, end };
    start = null;
    at(end, finalMs, () => {
      send(final);
      onFinal();
    });
  });
}

function firstSound(pcm: Buffer): number | null {
  for (let i = 0; i < pcm.length; i += 2) if (pcm.readInt16LE(i) !== 0) return i / 2;
  return null;
}

function lastSound(pcm: Buffer): number {
  for (let i = pcm.length - 2; i >= 0; i -= 2) if (pcm.readInt16LE(i) !== 0) return i / 2;
  return -1;
}
