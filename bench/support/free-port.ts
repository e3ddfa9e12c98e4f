import { randomInt } from "node:crypto";
import { closeSync, mkdirSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isFree } from "../../src/store/postgres/loopback-port.js";

/** Lowest port, below the range from which private databases draw theirs. */
const FIRST_PORT = 10_000;
const PORTS = 10_000;
const TRIES = 50;

/** Folder with a file for each port handed out in this run. The test runner removes it. */
const OF_RUN = process.env["TEST_PORTS_DIR"];
const TAKEN = OF_RUN ?? join(tmpdir(), `dauys-ports-${process.pid}`);
if (OF_RUN === undefined) process.once("exit", () => rmSync(TAKEN, { recursive: true, force: true }));

/**
 * Returns a free loopback port that no other process of this test run gets: another test may take a port that
 * merely looks free before a service listens on it.
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
