import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Below the ports that systems give to connections that go out (Linux: from 32,768): one of those may be taken by such a
 * connection, were it the owner's own, whenever the listener is away for a moment.
 */
const FIRST_PORT = 20_000;
const PORTS = 12_000;
const TRIES = 50;

/**
 * A port of the loopback interface that is free at this moment.
 *
 * @throws {Error} when none is found
 */
export async function freeLoopbackPort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = FIRST_PORT + randomInt(PORTS);
    if (await isFree(port)) return port;
  }
  throw new Error(`Cannot find a free port on 127.0.0.1 from ${FIRST_PORT} to ${FIRST_PORT + PORTS - 1}`);
}

/** Whether nothing listens there on 127.0.0.1. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  const isListening = await once(server, "listening").then(
    () => true,
    () => false,
  );
  if (!isListening) return false;
  server.close();
  await once(server, "close");
  return true;
}
