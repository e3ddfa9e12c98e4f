import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { startCounting } from "../url/listeners.js";

/** Files and addresses that a decoder must never access. */
export interface Canaries {
  /** A named pipe without a writer: a process that opens it for reading blocks and can be detected. */
  readonly pipe: string;
  /** A listener on the loopback interface. */
  readonly address: string;
  /** Both, in every notation. */
  readonly references: readonly string[];
  /** Connections to the listener so far. */
  readonly connections: number;
  /** True if a process has the pipe open. */
  isPipeOpen(): boolean;
  close(): Promise<void>;
}

/** @param folder folder of the decoder's source, so that relative names also reach the pipe */
export async function setCanaries(folder: string): Promise<Canaries> {
  const pipe = join(folder, "canary.wav");
  execFileSync("mkfifo", [pipe]);
  const server = await startCounting("127.0.0.1", (_request, response) => response.end("canary"));
  const address = `127.0.0.1:${server.port}`;
  return {
    pipe,
    address,
    references: [
      ...[pipe, `file:${pipe}`, `file://${pipe}`, basename(pipe), `./${basename(pipe)}`],
      ...[`../${basename(dirname(pipe))}/${basename(pipe)}`],
      ...[`http://${address}/canary.wav`, `tcp://${address}`, `hls+http://${address}/canary.m3u8`],
      ...[`rtsp://${address}/canary`, `ftp://${address}/canary.wav`],
    ],
    get connections() {
      return server.connections;
    },
    isPipeOpen: () => hasReader(pipe),
    close: () => server.close(),
  };
}

/** A non-blocking writer fails unless there is a reader. @see fifo(7) */
function hasReader(pipe: string): boolean {
  try {
    closeSync(openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK));
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENXIO") return false;
    throw error;
  }
}
