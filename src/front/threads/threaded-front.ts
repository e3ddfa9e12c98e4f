import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { Supervisor } from "../../../core/kernel/supervisor.js";
import type { Log } from "../../../core/observe/log.js";
import {
  DEFAULT_FRONT_LIMITS,
  type Front,
  type FrontHandlers,
  type FrontLimits,
} from "../../../core/ports/front.js";
import { openDescriptors } from "../shared/descriptors.js";
import { loadUwsBinding } from "../uws/load-binding.js";
import { FrontThreadHandle } from "./front-thread-handle.js";

export const FRONT_THREAD_ENTRY = new URL("./front-thread.js", import.meta.url);

const DESCRIPTORS_PER_THREAD = 12;

export interface ThreadedFrontOptions {
  readonly threadCount: number;
  readonly handlers: FrontHandlers;
  readonly limits?: FrontLimits;
  readonly log: Log;
  readonly entry?: URL;
}

/**
 * Runs the native front in several threads on one port; the kernel distributes connections among them.
 * Handlers and owners of sockets are called in the main thread, in the order of each client's messages.
 */
export class ThreadedFront implements Front {
  readonly kind = "uws";
  /** Settles when a thread cannot be restarted any more. */
  readonly lost: Promise<Error>;
  readonly #options: ThreadedFrontOptions;
  readonly #supervisors: Supervisor<FrontThreadHandle>[] = [];
  #setLost: (error: Error) => void = () => {};
  #liveCount = 0;
  #ownDescriptors: number | null = null;
  #graceMs = 0;

  /** @throws if the native front does not load, or the system cannot share a port */
  constructor(options: ThreadedFrontOptions) {
    // Load it in this thread first, because the library reads its environment once, and other threads have
    // copies.
    const binding = loadUwsBinding();
    const problem =
      typeof binding === "string"
        ? binding
        : process.platform === "linux"
          ? null
          : "only Linux spreads connections";
    if (problem !== null) throw new Error(`Cannot use FRONT_THREADS=${options.threadCount}: ${problem}`);
    this.#options = options;
    this.lost = new Promise((resolve) => {
      this.#setLost = resolve;
    });
  }

  async listen(host: string, port: number): Promise<number> {
    // The threads would share the port with any other process, so make sure that no process has it.
    const freePort = await reserve(host, port);
    const { threadCount } = this.#options;
    const open = openDescriptors();
    // Count only once, because a restarted thread would also count the connections of the others.
    this.#ownDescriptors = open === null ? null : open + threadCount * DESCRIPTORS_PER_THREAD;
    for (let index = 0; index < threadCount; index++) {
      this.#supervisors.push(this.#makeSupervisor(`front-thread-${index}`, host, freePort));
    }
    this.#liveCount = threadCount;
    await Promise.all(this.#supervisors.map((supervisor) => supervisor.start()));
    return freePort;
  }

  async close(graceMs: number): Promise<void> {
    this.#graceMs = graceMs;
    await Promise.all(this.#supervisors.map((supervisor) => supervisor.stop()));
  }

  #makeSupervisor(name: string, host: string, port: number): Supervisor<FrontThreadHandle> {
    const { handlers, limits = DEFAULT_FRONT_LIMITS, log, entry = FRONT_THREAD_ENTRY } = this.#options;
    const graceMs = () => this.#graceMs;
    return new Supervisor<FrontThreadHandle>(
      {
        id: name,
        start: () => {
          const ownDescriptors = this.#ownDescriptors;
          const options = { name, host, port, limits, ownDescriptors, handlers, graceMs, entry };
          return FrontThreadHandle.start(options);
        },
        onUp: () => log.info({ thread: name }, "front thread up"),
        onDown: (error) => log.error({ thread: name, err: error }, "front thread ended"),
        onGiveUp: (error) => {
          log.fatal({ thread: name, err: error }, "front thread given up");
          if (--this.#liveCount === 0) this.#setLost(error);
        },
      },
      () => performance.now(),
    );
  }
}

/** Listens exclusively for a moment, and returns the port. */
function reserve(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (cause) => {
      reject(
        new Error(
          `Cannot listen on ${host}:${port}: the port is in use, or the address is not on this machine`,
          { cause },
        ),
      );
    });
    server.listen({ host, port, exclusive: true }, () => {
      const { port: freePort } = server.address() as AddressInfo;
      server.close(() => resolve(freePort));
    });
  });
}
