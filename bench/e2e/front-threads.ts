import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { WebSocket } from "ws";
import type { BenchOptions } from "../bench-options.js";
import { saveResult } from "../save-result.js";
import { cpuSecondsOf, mainThreadCpuSecondsOf, TEST_KEY } from "../support/service-process.js";

const STUB_SERVICE = fileURLToPath(new URL("../support/stub-service.js", import.meta.url));
const THREAD_COUNTS = [1, 2] as const;
const MESSAGE_MS = 100;
const PAYLOAD = new Uint8Array(3_200);
const WAVE = 50;
const TICK_MS = 2;

interface Figure {
  readonly threads: number;
  readonly sockets: number;
  readonly messagesPerSecond: number;
  readonly answersPerMessage: number;
  readonly mainMicrosPerMessage: number;
  /** CPU time of the main thread, the front threads and the stub live worker. */
  readonly serviceMicrosPerMessage: number;
}

/**
 * `npm run bench -- front-threads [SOCKETS ...]`: the main thread's CPU time per paced message and response,
 * with the front on that thread and on two separate ones, around a stub recogniser. Rounds alternate.
 */
export async function run(options: BenchOptions): Promise<void> {
  const asked = options.args.map(Number);
  const counts = asked.length > 0 ? asked : options.smoke ? [20] : [300, 1_000];
  const seconds = options.smoke ? 1 : 6;
  const roundCount = options.smoke ? 1 : 2;
  const rounds: Figure[] = [];
  for (let round = 0; round < roundCount; round++) {
    for (const sockets of counts) {
      for (const threads of THREAD_COUNTS) {
        const figure = await measure(threads, sockets, seconds);
        print(figure);
        rounds.push(figure);
      }
    }
  }
  if (!options.smoke)
    await saveResult("front-threads", { parameters: { seconds, messageMs: MESSAGE_MS }, rounds });
}

async function measure(threads: number, count: number, seconds: number): Promise<Figure> {
  const child: ChildProcess = spawn(process.execPath, [STUB_SERVICE, "uws", TEST_KEY, String(threads)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const { pid = 0 } = child;
  try {
    const [line] = child.stdout === null ? [] : ((await once(child.stdout, "data")) as [Buffer]);
    const sockets = await openSockets(Number(String(line)), count);
    let answers = 0;
    for (const socket of sockets) socket.on("message", () => answers++);
    const before = { main: mainThreadCpuSecondsOf(pid), all: cpuSecondsOf(pid) };
    const messages = await speak(sockets, seconds);
    // Include messages in flight.
    await sleep(500);
    const mainSeconds = mainThreadCpuSecondsOf(pid) - before.main;
    const allSeconds = cpuSecondsOf(pid) - before.all;
    for (const socket of sockets) socket.terminate();
    return {
      threads,
      sockets: count,
      messagesPerSecond: messages / seconds,
      answersPerMessage: answers / messages,
      mainMicrosPerMessage: (mainSeconds / messages) * 1e6,
      serviceMicrosPerMessage: (allSeconds / messages) * 1e6,
    };
  } finally {
    child.kill("SIGTERM");
    await exited;
  }
}

async function openSockets(port: number, count: number): Promise<WebSocket[]> {
  const sockets: WebSocket[] = [];
  while (sockets.length < count) {
    const wave = Array.from({ length: Math.min(WAVE, count - sockets.length) }, () => {
      const headers = { authorization: `Bearer ${TEST_KEY}` };
      return new WebSocket(`ws://127.0.0.1:${port}/v1/stream`, { headers, perMessageDeflate: false });
    });
    // The first message is `ready`: the session is open.
    await Promise.all(wave.map((socket) => once(socket, "message")));
    sockets.push(...wave);
  }
  return sockets;
}

/** Sends each socket's messages when they are due; returns the number sent. */
async function speak(sockets: readonly WebSocket[], seconds: number): Promise<number> {
  const sentCounts = new Uint32Array(sockets.length);
  const startMs = performance.now();
  let messages = 0;
  while (performance.now() < startMs + seconds * 1_000) {
    const nowMs = performance.now();
    for (const [index, socket] of sockets.entries()) {
      const nth = sentCounts[index] ?? 0;
      if (startMs + (index / sockets.length + nth) * MESSAGE_MS > nowMs) continue;
      sentCounts[index] = nth + 1;
      socket.send(PAYLOAD);
      messages++;
    }
    await sleep(TICK_MS);
  }
  return messages;
}

function print(figure: Figure): void {
  console.log(
    `${figure.threads} front thread(s), ${figure.sockets} sockets, ${figure.messagesPerSecond.toFixed(0)} messages/s, ` +
      `${figure.answersPerMessage.toFixed(2)} answers each: main thread ${figure.mainMicrosPerMessage.toFixed(1)} µs, ` +
      `service ${figure.serviceMicrosPerMessage.toFixed(1)} µs a message`,
  );
}
