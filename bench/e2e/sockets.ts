import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { BenchOptions } from "../bench-options.js";
import { groupBy } from "../evaluate/group-by.js";
import { saveResult } from "../save-result.js";
import { type Percentiles, percentiles, showPercentiles } from "../support/percentiles.js";
import { binaryFrame, RawWebSocket } from "../support/raw-web-socket.js";
import {
  cpuSecondsOf,
  mainThreadCpuSecondsOf,
  residentBytesOf,
  TEST_KEY,
} from "../support/service-process.js";

const STUB_SERVICE = fileURLToPath(new URL("../support/stub-service.js", import.meta.url));
const MESSAGE_MS = 100;
const MESSAGE_BYTES = 3_200;
/** Period over which the paced sockets start sending. */
const SPREAD_MS = 2_000;
/** Number of sockets opened at the same time. */
const WAVE = 100;
const TICK_MS = 1;
const END_MEMBER = '"end":';
const FRONTS = ["uws", "node"] as const;

interface StubService {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

interface PacedFigure {
  readonly sockets: number;
  readonly addedMs: readonly number[];
  /** Number of messages that were not answered before the next one was due. */
  readonly missedDeadlines: number;
  readonly messages: number;
  readonly unanswered: number;
  /** Delay with which the client itself sends the first message of a round. */
  readonly clientLateMs: Percentiles | null;
  readonly serviceCores: number;
  readonly mainThreadCores: number;
  readonly clientCores: number;
}

/**
 * `npm run bench -- sockets [idle 10000] [paced 2000] [seconds 20]`: memory of idle sockets, and the cost of
 * front, sessions, rings and usage journal for paced ones, with a stub recogniser. This process is the
 * client, on the same machine. Takes two minutes.
 */
export async function run(options: BenchOptions): Promise<void> {
  const after = (word: string, otherwise: number) => {
    const index = options.args.indexOf(word);
    return index < 0 ? otherwise : Number(options.args[index + 1]);
  };
  const idleCount = after("idle", options.smoke ? 100 : 10_000);
  const pacedCount = after("paced", options.smoke ? 50 : 2_000);
  const seconds = after("seconds", options.smoke ? 2 : 20);
  const figures = [];
  for (const front of FRONTS) {
    const idle = await withService(front, (service) => measureIdle(service, idleCount));
    const paced = await withService(front, (service) => measurePaced(service, pacedCount, seconds));
    const added = percentiles(paced.addedMs, 1);
    console.log(
      `${front}: ${idle.sockets} idle sockets, ${(idle.bytesPerSocket / 1_024).toFixed(1)} KiB each; ` +
        `${paced.sockets} paced sockets, ${showPercentiles("added latency", added)} (p50/p95/p99), ` +
        `${paced.missedDeadlines + paced.unanswered} of ${paced.messages} deadlines missed, ` +
        `${showPercentiles("client late", paced.clientLateMs)}, cores: service ${paced.serviceCores.toFixed(2)} ` +
        `(main thread ${paced.mainThreadCores.toFixed(2)}), client ${paced.clientCores.toFixed(2)}`,
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

async function openSockets(
  port: number,
  count: number,
  onText: (index: number, text: string) => void = () => {},
): Promise<RawWebSocket[]> {
  const sockets: RawWebSocket[] = [];
  while (sockets.length < count) {
    const wave = Array.from({ length: Math.min(WAVE, count - sockets.length) }, (_, nth) => {
      const index = sockets.length + nth;
      // The first message is `ready`: the session is open.
      return RawWebSocket.open({
        port,
        path: "/v1/stream",
        key: TEST_KEY,
        onText: (text) => onText(index, text),
      });
    });
    sockets.push(...(await Promise.all(wave)));
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
  const addedMs: number[] = [];
  const lateMs: number[] = [];
  const answeredCounts = new Uint32Array(count);
  let missedDeadlines = 0;
  let startMs = 0;
  // Spread out the first messages, which allocate memory, and all later ones, because real clients do not
  // start at the same moment.
  const beginsAtMs = Array.from({ length: count }, (_, index) => Math.round((index / count) * SPREAD_MS));
  const dueMs = (index: number, nth: number) => startMs + beginsAtMs[index]! + nth * MESSAGE_MS;
  const sockets = await openSockets(service.port, count, (index, text) => {
    const at = text.indexOf(END_MEMBER);
    if (at < 0) return;
    // One answer may cover several messages that arrived together.
    const until = Math.round((Number.parseFloat(text.slice(at + END_MEMBER.length)) * 1_000) / MESSAGE_MS);
    const nowMs = performance.now();
    for (let nth = answeredCounts[index]!; nth < until; nth++) {
      // Measure from the moment the message was due, so that delays of this client count too.
      const tookMs = nowMs - dueMs(index, nth);
      addedMs.push(tookMs);
      if (tookMs > MESSAGE_MS) missedDeadlines++;
    }
    answeredCounts[index] = until;
  });
  const frame = binaryFrame(new Uint8Array(MESSAGE_BYTES));
  const cpuBefore = cpuOf(service);
  startMs = performance.now() + 100;
  const endMs = startMs + seconds * 1_000;
  const byPhase = groupBy(beginsAtMs.keys(), (index) => beginsAtMs[index]! % MESSAGE_MS);
  let messages = 0;
  let dueTick = 0;
  while (performance.now() < endMs) {
    const nowMs = performance.now();
    for (; startMs + dueTick <= nowMs; dueTick++) {
      if (dueTick % MESSAGE_MS === 0) lateMs.push(nowMs - startMs - dueTick);
      for (const index of byPhase.get(dueTick % MESSAGE_MS) ?? []) {
        if (beginsAtMs[index]! > dueTick) continue;
        sockets[index]!.send(frame);
        messages++;
      }
    }
    await sleep(TICK_MS);
  }
  const wallSeconds = (performance.now() - startMs) / 1_000;
  const cpu = cpuOf(service);
  await sleep(500);
  for (const socket of sockets) socket.terminate();
  return {
    sockets: count,
    addedMs,
    missedDeadlines,
    messages,
    unanswered: messages - addedMs.length,
    clientLateMs: percentiles(lateMs, 1),
    serviceCores: (cpu.service - cpuBefore.service) / wallSeconds,
    mainThreadCores: (cpu.main - cpuBefore.main) / wallSeconds,
    clientCores: (cpu.client - cpuBefore.client) / wallSeconds,
  };
}

function cpuOf({ pid }: StubService) {
  return {
    service: cpuSecondsOf(pid),
    main: mainThreadCpuSecondsOf(pid),
    client: cpuSecondsOf(process.pid),
  };
}
