import { randomInt } from "node:crypto";
import { closeSync, mkdirSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isFree } from "../../src/store/postgres/loopback-port.js";

/** Below the range from which private databases draw their ports. */
const FIRST_PORT = 10_000;
const PORTS = 10_000;
const TRIES = 50;

/**
 * Holds a file for each port handed out in this run. The test runner removes its folder itself.
 */
const OF_RUN = process.env["TEST_PORTS_DIR"];
const TAKEN = OF_RUN ?? join(tmpdir(), `dauys-ports-${process.pid}`);
if (OF_RUN === undefined) process.once("exit", () => rmSync(TAKEN, { recursive: true, force: true }));

/**
 * Returns a free loopback port that no other process of this test run gets: a port that merely looks free may
 * be taken by another test before a service listens on it.
 * @throws {Error} if none is found
 */
export async function freePort(): Promise<number> {
  mkdirSync(TAKEN, { recursive: true });
  for (let tries = 0; tries < TRIES; tries++) {
    const port = FIRST_PORT + randomInt(PORTS);
    if (take(port) && (await isFree(port))) return port;
  }
  throw new Error(`Cannot find a free port on 127.0.0.1 from ${FIRST_PORT} to ${FIRST_PORT + PORTS - 1}`);
}

function take(port: number): boolean {
  try {
    closeSync(openSync(join(TAKEN, String(port)), "wx"));
    return true;
  } catch {
    return false;
  }
}
