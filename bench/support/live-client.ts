import { WebSocket } from "ws";
import type { StreamServerMessage } from "../../core/protocol/stream-messages.js";

/**
 * How early a message may leave. A timer fires up to a millisecond early, so with a single wait messages left
 * 0.3 ms before their last sample was spoken (mean), and delays seemed shorter.
 */
const EARLY_MS = 0.5;

interface ReceivedMessage {
  readonly message: StreamServerMessage;
  readonly atMs: number;
}

export interface LiveRun {
  readonly received: readonly ReceivedMessage[];
  readonly sentSamples: number;
  /** When the first sample was spoken, in the time of `performance.now()`. */
  readonly startedAtMs: number;
  readonly closeCode: number;
}

export interface LiveRunOptions {
  readonly url: string;
  readonly key: string;
  readonly pcm: Int16Array;
  /** Number of samples in each message, or a list of sizes that is repeated. */
  readonly messageSamples: number | readonly number[];
  /**
   * Whether messages are sent in real time, like a microphone: each when its last sample has been spoken.
   * Otherwise they are sent unpaced.
   */
  readonly isPaced: boolean;
  readonly sampleRateHz?: number;
  readonly query?: string;
  /** Called before each message; returns true to stop the speaker early. */
  readonly isOver?: () => boolean;
  readonly onMessage?: (message: StreamServerMessage) => void;
  /** Called after each message was sent, with the samples sent so far. */
  readonly onSent?: (sentSamples: number) => void;
}

/** Speaks `pcm` into a live session, sends `close`, and collects everything until the socket closes. */
export async function runLive(options: LiveRunOptions): Promise<LiveRun> {
  const { pcm, isPaced, sampleRateHz = 16_000, isOver = () => false } = options;
  const sizes =
    typeof options.messageSamples === "number" ? [options.messageSamples] : options.messageSamples;
  const socket = new WebSocket(`${options.url.replace("http", "ws")}/v1/stream${options.query ?? ""}`, {
    headers: { Authorization: `Bearer ${options.key}` },
  });
  const received: ReceivedMessage[] = [];
  const isReady = new Promise<void>((resolve, reject) => {
    socket.on("message", (bytes) => {
      const message = JSON.parse(String(bytes)) as StreamServerMessage;
      received.push({ message, atMs: performance.now() });
      options.onMessage?.(message);
      if (message.type === "ready") resolve();
    });
    socket.once("error", reject);
  });
  const closed = new Promise<number>((resolve) => socket.once("close", (code) => resolve(code)));
  await isReady;
  const startedAtMs = performance.now();
  let sent = 0;
  for (let index = 0; sent < pcm.length && socket.readyState === WebSocket.OPEN && !isOver(); index++) {
    const part = pcm.subarray(sent, sent + sizes[index % sizes.length]!);
    sent += part.length;
    if (isPaced) await sleepUntil(startedAtMs + (sent / sampleRateHz) * 1_000);
    else if (index % 64 === 63) await new Promise((resolve) => setImmediate(resolve));
    socket.send(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
    options.onSent?.(sent);
  }
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: "close" }));
  return { received, sentSamples: sent, startedAtMs, closeCode: await closed };
}

async function sleepUntil(atMs: number): Promise<void> {
  for (let leftMs = atMs - performance.now(); leftMs > EARLY_MS; leftMs = atMs - performance.now())
    await new Promise((resolve) => setTimeout(resolve, leftMs));
}
