import { Worker } from "node:worker_threads";
import { ServiceError } from "../../core/domain/errors.js";
import { settlesWithin, whenReady } from "../../core/kernel/readiness.js";
import { errorOf, PROTOCOL_VERSION, type WorkerStatus } from "./protocol.js";

export interface WorkerHandleOptions<From> {
  readonly name: string;
  readonly entry: URL;
  readonly data: object;
  readonly readyWithinMs: number;
  readonly stopWithinMs: number;
  readonly onMessage: (message: Exclude<From, WorkerStatus>) => void;
  /** Called after the thread has ended for any reason. */
  readonly onExit?: (thread: number) => void;
}

/**
 * A worker thread that is loaded and warmed up. It is never terminated from outside, which would abort the
 * process if the thread is inside onnxruntime: `stop` asks it to end, and it ends between two runs.
 */
export class WorkerHandle<To> {
  /** Resolves to null after `stop`, else to the reason why the thread ended. Never rejects. */
  readonly ended: Promise<Error | null>;
  readonly warmupMs: number;
  readonly #worker: Worker;
  readonly #stopWithinMs: number;
  #isStopping = false;

  private constructor(
    worker: Worker,
    ended: Promise<Error>,
    { warmupMs, stopWithinMs }: { readonly warmupMs: number; readonly stopWithinMs: number },
  ) {
    this.#worker = worker;
    this.#stopWithinMs = stopWithinMs;
    this.warmupMs = warmupMs;
    this.ended = ended.then((reason) => (this.#isStopping ? null : reason));
  }

  /**
   * Starts a thread; settles once it is loaded and warmed up.
   * @throws {ServiceError} the worker's own error, or `WORKER_LOST` if it ends or times out first
   */
  static async start<To, From extends { readonly type: string }>(
    options: WorkerHandleOptions<From>,
  ): Promise<WorkerHandle<To>> {
    const worker = new Worker(options.entry, { name: options.name, workerData: options.data });
    const { threadId } = worker;
    worker.once("exit", () => options.onExit?.(threadId));
    let lost: Error | null = null;
    const ended = new Promise<Error>((resolve) => {
      worker.once("error", (error) => resolve(error instanceof Error ? error : new Error(String(error))));
      worker.once("exit", (code) =>
        resolve(lost ?? new ServiceError("WORKER_LOST", `${options.name} ended (${code})`)),
      );
    });
    const onLost = (reason: Error) => {
      lost = reason;
    };
    const { name, readyWithinMs, stopWithinMs } = options;
    const warmupMs = await whenReady<number>({
      ended,
      withinMs: readyWithinMs,
      listen: (ready, failed) => listen(worker, options, { onLost, ready, failed }),
      giveUp: () => {
        worker.postMessage({ type: "stop" });
        return new ServiceError("WORKER_LOST", `${name} was not ready within ${readyWithinMs} ms`);
      },
    });
    return new WorkerHandle<To>(worker, ended, { warmupMs, stopWithinMs });
  }

  post(message: To): void {
    this.#worker.postMessage(message);
  }

  /** Asks the thread to end and waits. A thread that hangs in native code stays until the process ends. */
  async stop(): Promise<void> {
    if (!this.#isStopping) {
      this.#isStopping = true;
      this.#worker.postMessage({ type: "stop" });
    }
    await settlesWithin(this.ended, this.#stopWithinMs);
  }
}

const STATUSES: readonly string[] = ["ready", "failed", "lost"] satisfies WorkerStatus["type"][];

/** Handles the worker's status messages, and passes all others to the owner. */
function listen<From extends { readonly type: string }>(
  worker: Worker,
  options: WorkerHandleOptions<From>,
  {
    ready,
    failed,
    onLost,
  }: {
    readonly ready: (warmupMs: number) => void;
    readonly failed: (reason: Error) => void;
    /** The thread is about to end for this reason. */
    readonly onLost: (reason: Error) => void;
  },
): void {
  worker.on("message", (message: From) => {
    if (!STATUSES.includes(message.type)) {
      options.onMessage(message as Exclude<From, WorkerStatus>);
      return;
    }
    const status = message as unknown as WorkerStatus;
    if (status.type === "failed") failed(errorOf(status));
    else if (status.type === "lost") onLost(errorOf({ code: "WORKER_LOST", ...status }));
    else if (status.protocolVersion === PROTOCOL_VERSION) ready(status.warmupMs);
    else failed(new ServiceError("WORKER_LOST", `${options.name} uses another protocol version`));
  });
}
