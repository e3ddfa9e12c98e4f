import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { startCounting } from "../url/listeners.js";

/** Files and addresses that a decoder must never access. */
export interface Canaries {
  /** A named pipe without a writer: a process that opens it for reading blocks and can be detected. */
  readonly pipe: string;
  /** The address of a listener on the loopback interface. */
  readonly address: string;
  /** The names of the pipe and the address, in every notation. */
  readonly references: readonly string[];
  /** The number of connections to the listener so far. */
  readonly connections: number;
  /** Returns whether a process has the pipe open. */
  isPipeOpen(): boolean;
  close(): Promise<void>;
}

/** @param folder the folder of the decoder's source, so that relative names reach the pipe too */
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

/** Returns whether a process reads the pipe: without a reader, a non-blocking writer fails. @see fifo(7) */
function hasReader(pipe: string): boolean {
  try {
    closeSync(openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK));
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENXIO") return false;
    throw error;
  }
}
