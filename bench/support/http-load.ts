import { connect, type Socket } from "node:net";

export interface HttpLoad {
  readonly port: number;
  /** A complete HTTP/1.1 request with a persistent connection. */
  readonly request: string;
  readonly connections: number;
  readonly durationMs: number;
}

/** Latencies in milliseconds of all responses within the time, unordered. */
export interface HttpLoadResult {
  readonly latenciesMs: Float64Array;
  readonly perSecond: number;
}

const OK = "HTTP/1.1 200";

/**
 * Repeats a request on each connection, one at a time. Counts bytes instead of parsing: all responses to a
 * request have the length of the connection's first one. A load generator that costs more than the server
 * would only measure itself.
 */
export async function loadOverHttp(load: HttpLoad): Promise<HttpLoadResult> {
  const endMs = performance.now() + load.durationMs;
  const each = await Promise.all(Array.from({ length: load.connections }, () => askUntil(endMs, load)));
  const latenciesMs = Float64Array.from(each.flat());
  return { latenciesMs, perSecond: latenciesMs.length / (load.durationMs / 1_000) };
}

function askUntil(endMs: number, { port, request }: HttpLoad): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const latenciesMs: number[] = [];
    let sentAtMs = 0;
    let answerBytes: number | null = null;
    let receivedBytes = 0;
    const socket = connect(port, "127.0.0.1");
    const ask = () => {
      sentAtMs = performance.now();
      socket.write(request);
    };
    socket.setNoDelay(true);
    socket.once("connect", ask);
    socket.once("error", reject);
    socket.on("data", (bytes) => {
      if (receivedBytes === 0) answerBytes = checkAnswer(bytes, answerBytes, socket);
      receivedBytes += bytes.length;
      if (answerBytes === null || receivedBytes < answerBytes) return;
      receivedBytes = 0;
      const nowMs = performance.now();
      latenciesMs.push(nowMs - sentAtMs);
      if (nowMs < endMs) return ask();
      socket.destroy();
      resolve(latenciesMs);
    });
  });
}

/** Computes the length of a response from its head, which must arrive in one piece. */
function checkAnswer(bytes: Buffer, known: number | null, socket: Socket): number | null {
  if (bytes.toString("latin1", 0, OK.length) !== OK) {
    socket.destroy(new Error(`expected ${OK}, received ${bytes.toString("latin1", 0, 40)}`));
    return null;
  }
  if (known !== null) return known;
  const headEnd = bytes.indexOf("\r\n\r\n");
  const length = /content-length: (\d+)/i.exec(bytes.toString("latin1", 0, headEnd))?.[1];
  return headEnd + 4 + Number(length);
}
