import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { freePort } from "./free-port.js";
import { cpuSecondsOf } from "./service-process.js";

/** Program of Debian's package, which `npm test` installs if run as root. */
const COMMAND = "nats-server";

const LISTENS_WITHIN_MS = 60_000;
const POLL_MS = 20;

/** Reason to skip tests that need a server; false if there is one. */
export const WITHOUT_NATS: string | false =
  spawnSync(COMMAND, ["--version"]).error === undefined
    ? false
    : "nats-server is not installed (apt-get install nats-server)";

export interface NatsServerOptions {
  /** Listening address; 127.0.0.1 by default. */
  readonly host?: string;
  /** Address that clients use, if not `host`. */
  readonly reachedAt?: string;
  /** Port; any free one if absent. */
  readonly port?: number;
  /** Prefix of the command, which selects where it runs. */
  readonly within?: readonly string[];
  readonly more?: readonly string[];
}

/** A real server on a free port of this machine, which can be killed and restarted. */
export class NatsServer {
  readonly url: string;
  readonly port: number;
  readonly #host: string;
  readonly #command: readonly string[];
  #child: ChildProcess | null = null;
  #ended: Promise<unknown> = Promise.resolve();

  private constructor(
    port: number,
    { host = "127.0.0.1", reachedAt, within = [], more = [] }: NatsServerOptions,
  ) {
    this.port = port;
    this.#host = reachedAt ?? host;
    this.url = `nats://${this.#host}:${port}`;
    this.#command = [...within, COMMAND, "-a", host, "-p", String(port), ...more];
  }

  /** @param more additional arguments of the server */
  static start(...more: readonly string[]): Promise<NatsServer> {
    return NatsServer.startAt({ more });
  }

  static async startAt(options: NatsServerOptions): Promise<NatsServer> {
    const server = new NatsServer(options.port ?? (await freePort()), options);
    await server.start();
    return server;
  }

  /** CPU seconds of the server so far. */
  cpuSeconds(): number {
    return cpuSecondsOf(this.#child!.pid!);
  }

  /** Settles once it is listening. */
  async start(): Promise<void> {
    const [command = "", ...args] = this.#command;
    const child = spawn(command, args, { stdio: "ignore" });
    this.#child = child;
    this.#ended = once(child, "exit");
    await once(child, "spawn");
    const deadlineMs = performance.now() + LISTENS_WITHIN_MS;
    while (!(await canConnect(this.#host, this.port))) {
      if (performance.now() > deadlineMs) throw new Error(`${COMMAND} did not listen on ${this.port}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  /** Kills the server immediately, as with `kill -9`. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    this.#child = null;
    child.kill("SIGKILL");
    await this.#ended;
  }

  /** Suspends the server; its sockets stay open. */
  freeze(): void {
    this.#child?.kill("SIGSTOP");
  }

  thaw(): void {
    this.#child?.kill("SIGCONT");
  }

  /** Asks its clients to disconnect, then ends; settles once it has ended. */
  async leave(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    this.#child = null;
    child.kill("SIGUSR2");
    await this.#ended;
  }
}

function canConnect(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (isThere: boolean) => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once("connect", () => end(true)).once("error", () => end(false));
  });
}
