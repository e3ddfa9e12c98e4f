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

/** Descriptors that a thread has for itself. */
const DESCRIPTORS_PER_THREAD = 12;

export interface ThreadedFrontOptions {
  readonly threadCount: number;
  readonly handlers: FrontHandlers;
  readonly limits?: FrontLimits;
  readonly log: Log;
  /** The compiled entry of the threads. */
  readonly entry?: URL;
}

/**
 * The native front in several threads that share one port: the kernel spreads connections over them. They read, frame
 * and write; handlers and the owners of sockets are called in the main thread, in the order of each client's messages.
 */
export class ThreadedFront implements Front {
  readonly kind = "uws";
  /** Settles when no thread is left and none comes back. */
  readonly lost: Promise<Error>;
  readonly #options: ThreadedFrontOptions;
  readonly #supervisors: Supervisor<FrontThreadHandle>[] = [];
  #tellLost: (error: Error) => void = () => {};
  #liveCount = 0;
  #ownDescriptors: number | null = null;
  #graceMs = 0;

  /** @throws when the native front cannot be had, or its port not be shared */
  constructor(options: ThreadedFrontOptions) {
    // Loaded here first: the library reads its environment once, and only this thread's is the process's own.
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
      this.#tellLost = resolve;
    });
  }

  async listen(host: string, port: number): Promise<number> {
    // Threads share the port with any process that asks for it: that no other has it is found out first.
    const freePort = await reserve(host, port);
    const { threadCount } = this.#options;
    const open = openDescriptors();
    // Counted once: a thread that comes back finds the connections of the others.
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
          log.fatal({ thread: name, err: error }, "front thread does not come back");
          if (--this.#liveCount === 0) this.#tellLost(error);
        },
      },
      () => performance.now(),
    );
  }
}

/** Which port can be had; it is listened on exclusively for a moment. */
function reserve(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (cause) => {
      reject(new Error(`Cannot listen on ${host}:${port}: it is in use or not ours`, { cause }));
    });
    server.listen({ host, port, exclusive: true }, () => {
      const { port: freePort } = server.address() as AddressInfo;
      server.close(() => resolve(freePort));
    });
  });
}
