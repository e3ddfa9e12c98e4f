import { pace } from "../../support/pace.js";
import type { ThreadControl } from "./in-thread.js";
import { RawConnection } from "./raw-connection.js";
import { repeated, WebSocketClient } from "./web-socket-client.js";

/** Size of a single write in bytes. */
const BLOCK_BYTES = 256 * 1024;
const REST_MS = 20;

export interface SocketFloodArgs {
  readonly port: number;
  readonly path: string;
  readonly key: string;
  /** Complete frames that are sent repeatedly. */
  readonly unit: Uint8Array;
  /** Frames that are sent once, before the first unit. */
  readonly first?: Uint8Array;
  readonly seconds: number;
  readonly sockets: number;
  /** Most units per socket. */
  readonly unitsPerSocket?: number;
  /** Whether to replace sockets that the service closes. */
  readonly comesBack?: boolean;
  /** Whether the client reads nothing. */
  readonly isDeaf?: boolean;
}

export interface FloodReport {
  /** Number of connections that were opened. */
  readonly opened: number;
  /** Approximate number of units handed to the operating system. */
  readonly sent: number;
  /** Number of connections by close code or status; `open` if the service did not close them. */
  readonly endings: Readonly<Record<string, number>>;
}

/** Runs on a thread: opens WebSockets that send the same frames as fast as the service accepts them. */
export async function floodSockets(args: SocketFloodArgs, control: ThreadControl): Promise<FloodReport> {
  const untilMs = performance.now() + args.seconds * 1_000;
  const isOver = () => control.isStopped || performance.now() > untilMs;
  const unit = Buffer.from(args.unit);
  const block = repeated(unit, Math.max(1, Math.floor(BLOCK_BYTES / unit.length)));
  const tally = new Tally();
  await Promise.all(
    Array.from({ length: args.sockets }, async () => {
      do tally.ended(await floodOne(args, block, unit.length, tally, isOver));
      while (args.comesBack === true && !isOver() && (await rest()));
    }),
  );
  return tally.report;
}

async function floodOne(
  args: SocketFloodArgs,
  block: Buffer,
  unitBytes: number,
  tally: Tally,
  isOver: () => boolean,
): Promise<string> {
  const client = await WebSocketClient.open(args).catch(() => null);
  if (client === null) return "refused";
  tally.opened++;
  if (client.status !== 101) {
    client.connection.destroy();
    return String(client.status);
  }
  if (args.isDeaf === true) client.connection.socket.pause();
  if (args.first !== undefined) await client.write(args.first);
  let left = args.unitsPerSocket ?? Infinity;
  while (left > 0 && !isOver() && !client.connection.isClosed && client.closeFrame === null) {
    const part = left * unitBytes < block.length ? block.subarray(0, left * unitBytes) : block;
    await Promise.race([client.write(part), client.connection.until(() => client.closeFrame !== null)]);
    left -= part.length / unitBytes;
    tally.sent += part.length / unitBytes;
  }
  if (args.isDeaf === true) client.connection.socket.resume();
  // The close message may still be in flight.
  await Promise.race([client.connection.until(() => client.closeFrame !== null), pace(500)]);
  const { closeFrame } = client;
  const ending = closeFrame !== null ? String(closeFrame.code) : client.connection.isClosed ? "cut" : "open";
  client.connection.destroy();
  return ending;
}

export interface UploadFloodArgs {
  readonly port: number;
  readonly path: string;
  readonly key: string;
  readonly contentType: string;
  /** Sent before the chunks; for example the start of a form, as one chunk. */
  readonly first?: string;
  /** Size of each chunk in bytes. */
  readonly chunkBytes: number;
  readonly connections: number;
  /** Bytes of content per connection, after which the client leaves in the middle of its body. */
  readonly contentBytes: number;
  /** Whether to replace connections that the service ends. */
  readonly comesBack?: boolean;
  readonly seconds: number;
}

/** Runs on a thread: uploads small chunks, and leaves before the end of the body. */
export async function floodUploads(args: UploadFloodArgs, control: ThreadControl): Promise<FloodReport> {
  const untilMs = performance.now() + args.seconds * 1_000;
  const isOver = () => control.isStopped || performance.now() > untilMs;
  const unit = chunk("x".repeat(args.chunkBytes));
  const block = repeated(unit, Math.max(1, Math.floor(BLOCK_BYTES / unit.length)));
  const tally = new Tally();
  await Promise.all(
    Array.from({ length: args.connections }, async () => {
      do tally.ended(await uploadOne(args, block, tally, isOver));
      while (args.comesBack === true && !isOver() && (await rest()));
    }),
  );
  return tally.report;
}

async function uploadOne(
  args: UploadFloodArgs,
  block: Buffer,
  tally: Tally,
  isOver: () => boolean,
): Promise<string> {
  const connection = await RawConnection.open(args.port).catch(() => null);
  if (connection === null) return "refused";
  tally.opened++;
  await connection.write(
    `POST ${args.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${args.key}\r\n` +
      `Content-Type: ${args.contentType}\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  if (args.first !== undefined) await connection.write(chunk(args.first));
  const perBlock = block.length / chunk("x".repeat(args.chunkBytes)).length;
  const isAnswered = () => connection.isClosed || connection.received.length > 0;
  for (let left = args.contentBytes; left > 0 && !isOver() && !isAnswered(); ) {
    await Promise.race([connection.write(block), connection.until(isAnswered)]);
    left -= perBlock * args.chunkBytes;
    tally.sent += perBlock;
  }
  const ending = connection.received.length > 0 ? connection.text.slice(9, 12) : "open";
  connection.destroy();
  return ending;
}

export interface RequestFloodArgs {
  readonly port: number;
  /** Text that is written repeatedly, usually complete requests. */
  readonly unit: string;
  readonly connections: number;
  /** Units per connection. Afterwards it waits at most a second for the service to close it. */
  readonly unitsPerConnection: number;
  /** A client that reads nothing. */
  readonly isDeaf?: boolean;
  readonly seconds: number;
}

/**
 * Runs on a thread: opens connections that send requests without waiting for responses, and replaces those
 * that end.
 */
export async function floodRequests(args: RequestFloodArgs, control: ThreadControl): Promise<FloodReport> {
  const untilMs = performance.now() + args.seconds * 1_000;
  const isOver = () => control.isStopped || performance.now() > untilMs;
  const block = repeated(Buffer.from(args.unit), args.unitsPerConnection);
  const tally = new Tally();
  await Promise.all(
    Array.from({ length: args.connections }, async () => {
      do {
        const connection = await RawConnection.open(args.port).catch(() => null);
        if (connection === null) {
          tally.ended("refused");
          continue;
        }
        tally.opened++;
        if (args.isDeaf === true) connection.socket.pause();
        await Promise.race([connection.write(block), pace(1_000)]);
        tally.sent += args.unitsPerConnection;
        await connection.until(() => false, 1_000);
        const status = args.isDeaf === true ? await statusOf(connection) : "";
        tally.ended(`${status}${connection.isClosed ? "closed" : "open"}`);
        connection.destroy();
      } while (!isOver() && (await rest()));
    }),
  );
  return tally.report;
}

/** Reads the response that a client has ignored so far. */
async function statusOf(connection: RawConnection): Promise<string> {
  connection.socket.resume();
  const hasStatus = await connection.until(({ received }) => received.length >= 12, 500);
  return hasStatus ? `${connection.received.toString("latin1", 9, 12)} ` : "";
}

/** One chunk of a chunked body. */
export function chunk(content: string): Buffer {
  return Buffer.from(`${Buffer.byteLength(content).toString(16)}\r\n${content}\r\n`);
}

class Tally {
  opened = 0;
  sent = 0;
  readonly #endings: Record<string, number> = {};

  ended(ending: string): void {
    this.#endings[ending] = (this.#endings[ending] ?? 0) + 1;
  }

  get report(): FloodReport {
    return { opened: this.opened, sent: Math.round(this.sent), endings: this.#endings };
  }
}

/** Waits a moment before a closed client reconnects. */
async function rest(): Promise<true> {
  await pace(REST_MS);
  return true;
}
