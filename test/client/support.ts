import { createServer, type Socket } from "node:net";
import type { LiveDone, LiveOptions } from "../../src/client/live-options.js";
import type { LiveFinal, LiveResult } from "../../src/client/live-types.js";
import type { DauysClient } from "../../src/client/node.js";
import { cut, joined, RATE_HZ, silence, speech } from "../support/audio.js";
import { pace as waitAs } from "../support/pace.js";

/** Four utterances with pauses between them. `finalize` ends one of them early. */
export const DIALOGUE = joined(
  silence(0.3),
  speech("kazakh-speech-commands/example_1.flac"),
  silence(0.8),
  speech("asterisk-ru-core/conf-getconfno.flac"),
  silence(0.6),
  speech("asterisk-ru-additional/find-person.flac"),
  silence(0.5),
  speech("kazakh-speech-commands/example_1.flac"),
  silence(0.5),
);

const MESSAGE_SAMPLES = 1_600;

export interface Received {
  readonly results: readonly LiveResult[];
  readonly finals: readonly LiveFinal[];
  readonly done: LiveDone;
}

export interface ListenOptions extends LiveOptions {
  /** Awaited before the piece with this number is sent. */
  readonly before?: (piece: number, results: readonly LiveResult[]) => Promise<void> | void;
  /** Numbers of the pieces before which `finalize` is called. */
  readonly finalizeBefore?: readonly number[];
  /** Speed as a multiple of real time. */
  readonly pace?: number;
}

/** Sends audio to a live session and collects its results. */
export async function listen(
  client: DauysClient,
  pcm: Int16Array,
  options: ListenOptions = {},
): Promise<Received> {
  const { before, finalizeBefore = [], pace = 8, ...liveOptions } = options;
  const live = client.live(liveOptions);
  const results: LiveResult[] = [];
  const received = (async () => {
    for await (const result of live) results.push(result);
  })();
  received.catch(() => {});
  for (const [piece, samples] of cut(pcm, [MESSAGE_SAMPLES]).entries()) {
    if (finalizeBefore.includes(piece)) live.finalize();
    await before?.(piece, results);
    await live.send(samples);
    await waitAs((MESSAGE_SAMPLES / RATE_HZ / pace) * 1_000);
  }
  const done = await live.close();
  await received;
  return { results, finals: results.filter((result) => result.type === "final"), done };
}

export interface RawServer {
  readonly url: string;
  /** Bytes received so far, by connection. */
  readonly received: string[];
  /** Number of connections with a request; fetch opens others in advance. */
  readonly openConnections: number;
  close(): Promise<void>;
}

/** A TCP server whose responses the test chooses: none, part of one, or invalid HTTP. */
export async function startRawServer(onRequest: (socket: Socket, index: number) => void): Promise<RawServer> {
  const sockets = new Set<Socket>();
  const asked = new Set<Socket>();
  const received: string[] = [];
  let requests = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      sockets.delete(socket);
      asked.delete(socket);
    });
    socket.on("data", (bytes) => {
      const text = bytes.toString("latin1");
      received.push(text);
      asked.add(socket);
      if (/^(GET|POST) /.test(text)) onRequest(socket, requests++);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    get openConnections() {
      return asked.size;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Returns a complete HTTP response. */
export function answerOf(status: number, headers: Readonly<Record<string, string>>, body: string): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} X\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${lines.join("")}\r\n${body}`;
}
