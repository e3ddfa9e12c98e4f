import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { freeLoopbackPort } from "../../src/store/postgres/loopback-port.js";
import { cpuSecondsOf } from "./service-process.js";

/** Debian's, which `npm test` installs as root. */
const COMMAND = "nats-server";

const LISTENS_WITHIN_MS = 60_000;
const POLL_MS = 20;

/** Why what needs a server is left out; false where there is one. */
export const WITHOUT_NATS: string | false =
  spawnSync(COMMAND, ["--version"]).error === undefined
    ? false
    : "no nats-server here (apt-get install nats-server)";

/** A real server on a free port of 127.0.0.1, which can die and come back. */
export class NatsServer {
  readonly url: string;
  readonly #arguments: readonly string[];
  readonly #port: number;
  #child: ChildProcess | null = null;

  private constructor(port: number, more: readonly string[]) {
    this.#port = port;
    this.url = `nats://127.0.0.1:${port}`;
    this.#arguments = ["-a", "127.0.0.1", "-p", String(port), ...more];
  }

  /** @param more arguments of the server */
  static async start(...more: readonly string[]): Promise<NatsServer> {
    const server = new NatsServer(await freeLoopbackPort(), more);
    await server.start();
    return server;
  }

  /** CPU seconds of the server so far. */
  cpuSeconds(): number {
    return cpuSecondsOf(this.#child!.pid!);
  }

  /** Settles when it listens. */
  async start(): Promise<void> {
    const child = spawn(COMMAND, this.#arguments, { stdio: "ignore" });
    this.#child = child;
    await once(child, "spawn");
    const deadlineMs = performance.now() + LISTENS_WITHIN_MS;
    while (!(await canConnect(this.#port))) {
      if (performance.now() > deadlineMs) throw new Error(`${COMMAND} did not listen on ${this.#port}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  /** Ends at once, as by `kill -9`. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    this.#child = null;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    const end = (isThere: boolean) => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once("connect", () => end(true)).once("error", () => end(false));
  });
}
