import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { WebSocket } from "ws";
import { saveResult } from "../save-result.js";
import { percentiles, showPercentiles } from "../support/percentiles.js";
import { cpuSecondsOf, residentBytesOf, TEST_KEY } from "../support/service-process.js";

const STUB_SERVICE = fileURLToPath(new URL("../support/stub-service.js", import.meta.url));
const MESSAGE_MS = 100;
const MESSAGE_BYTES = 3_200;
/** Sockets that are opened at once. */
const WAVE = 100;
const TICK_MS = 2;
const FRONTS = ["uws", "node"] as const;

interface StubService {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

interface PacedFigure {
  readonly sockets: number;
  readonly addedMs: readonly number[];
  /** Messages that were not answered before the next one was due. */
  readonly missedDeadlines: number;
  readonly messages: number;
  readonly unanswered: number;
  readonly serviceCores: number;
  readonly clientCores: number;
}

/**
 * `npm run bench -- sockets [idle 10000] [paced 2000]`: memory of idle sockets, and what the front, the sessions and the
 * rings add to paced ones, with a recogniser that only answers. This process is the client, on the same machine.
 */
export async function run(options: {
  readonly smoke: boolean;
  readonly args: readonly string[];
}): Promise<void> {
  const after = (word: string, otherwise: number) => {
    const index = options.args.indexOf(word);
    return index < 0 ? otherwise : Number(options.args[index + 1]);
  };
  const idleCount = after("idle", options.smoke ? 100 : 10_000);
  const pacedCount = after("paced", options.smoke ? 50 : 2_000);
  const seconds = options.smoke ? 2 : 20;
  const figures = [];
  for (const front of FRONTS) {
    const idle = await withService(front, (service) => measureIdle(service, idleCount));
    const paced = await withService(front, (service) => measurePaced(service, pacedCount, seconds));
    const added = percentiles(paced.addedMs, 1);
    console.log(
      `${front}: ${idle.sockets} idle sockets, ${(idle.bytesPerSocket / 1_024).toFixed(1)} KiB each; ` +
        `${paced.sockets} paced sockets, ${showPercentiles("added latency", added)} (p50/p95/p99), ` +
        `${paced.missedDeadlines + paced.unanswered} of ${paced.messages} deadlines missed, ` +
        `cores: service ${paced.serviceCores.toFixed(2)}, client ${paced.clientCores.toFixed(2)}`,
    );
    const { addedMs, ...rest } = paced;
    figures.push({
      front,
      idle,
      paced: { ...rest, addedMs: added, worstMs: addedMs.reduce((a, b) => Math.max(a, b), 0) },
    });
  }
  if (!options.smoke)
    await saveResult("sockets", { parameters: { seconds, messageMs: MESSAGE_MS }, figures });
}

async function withService<T>(front: string, use: (service: StubService) => Promise<T>): Promise<T> {
  const child: ChildProcess = spawn(process.execPath, [STUB_SERVICE, front, TEST_KEY], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const [line] = (await once(child.stdout!, "data")) as [Buffer];
  const stop = async () => {
    child.kill("SIGTERM");
    await exited;
  };
  try {
    return await use({ port: Number(String(line)), pid: child.pid!, stop });
  } finally {
    await stop();
  }
}

async function openSockets(port: number, count: number): Promise<WebSocket[]> {
  const sockets: WebSocket[] = [];
  while (sockets.length < count) {
    const wave = Array.from({ length: Math.min(WAVE, count - sockets.length) }, () => {
      return new WebSocket(`ws://127.0.0.1:${port}/v1/stream`, {
        headers: { authorization: `Bearer ${TEST_KEY}` },
        perMessageDeflate: false,
      });
    });
    // `ready` is the first message: the session is there.
    await Promise.all(wave.map((socket) => once(socket, "message")));
    sockets.push(...wave);
  }
  return sockets;
}

async function measureIdle(service: StubService, count: number) {
  const [first] = await openSockets(service.port, 1);
  await sleep(500);
  const before = residentBytesOf(service.pid);
  const sockets = await openSockets(service.port, count);
  await sleep(1_000);
  const bytes = residentBytesOf(service.pid) - before;
  for (const socket of [...sockets, first!]) socket.terminate();
  return { sockets: count, bytesPerSocket: bytes / count };
}

async function measurePaced(service: StubService, count: number, seconds: number): Promise<PacedFigure> {
  const sockets = await openSockets(service.port, count);
  const payload = new Uint8Array(MESSAGE_BYTES);
  const addedMs: number[] = [];
  const sentCounts = new Uint32Array(count);
  const answeredCounts = new Uint32Array(count);
  let missedDeadlines = 0;
  let answered = 0;
  let startMs = 0;
  const dueMs = (index: number, nth: number) => startMs + (index / count + nth) * MESSAGE_MS;
  for (const [index, socket] of sockets.entries()) {
    socket.on("message", (data) => {
      const end = /"end":([0-9.]+)/.exec(String(data))?.[1];
      // One answer may be for several messages that came together.
      const until = Math.round((Number(end) * 1_000) / MESSAGE_MS);
      for (let nth = answeredCounts[index]!; nth < until; nth++) {
        // From the moment it was due: what this client is late with counts as well.
        const tookMs = performance.now() - dueMs(index, nth);
        addedMs.push(tookMs);
        answered++;
        if (tookMs > MESSAGE_MS) missedDeadlines++;
      }
      answeredCounts[index] = until;
    });
  }
  const cpuBefore = { service: cpuSecondsOf(service.pid), client: cpuSecondsOf(process.pid) };
  startMs = performance.now() + 100;
  const endMs = startMs + seconds * 1_000;
  while (performance.now() < endMs) {
    const nowMs = performance.now();
    for (let index = 0; index < count; index++) {
      // Everybody speaks at a moment of their own.
      if (dueMs(index, sentCounts[index]!) > nowMs) continue;
      sentCounts[index]!++;
      sockets[index]!.send(payload);
    }
    await sleep(TICK_MS);
  }
  await sleep(500);
  const wallSeconds = (performance.now() - startMs) / 1_000;
  const messages = sentCounts.reduce((total, sent) => total + sent, 0);
  for (const socket of sockets) socket.terminate();
  return {
    sockets: count,
    addedMs,
    missedDeadlines,
    messages,
    unanswered: messages - answered,
    serviceCores: (cpuSecondsOf(service.pid) - cpuBefore.service) / wallSeconds,
    clientCores: (cpuSecondsOf(process.pid) - cpuBefore.client) / wallSeconds,
  };
}
