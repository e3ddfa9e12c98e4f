import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Below the ephemeral ports (Linux: from 32,768), because any outgoing connection may take one of those while
 * the server restarts.
 */
const FIRST_PORT = 20_000;
const PORTS = 12_000;
const TRIES = 50;

/**
 * Finds a port on the loopback interface that is currently free.
 *
 * @throws {Error} if there is none
 */
export async function freeLoopbackPort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = FIRST_PORT + randomInt(PORTS);
    if (await isFree(port)) return port;
  }
  throw new Error(`Cannot find a free port on 127.0.0.1 from ${FIRST_PORT} to ${FIRST_PORT + PORTS - 1}`);
}

/** Returns whether nothing listens on a port of 127.0.0.1. */
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
