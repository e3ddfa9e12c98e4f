import { ServiceError } from "../../core/domain/errors.js";
import type { ServedPart } from "../../core/domain/served.js";
import type { Beat } from "./beats.js";
import { CALL_VERSION } from "./call-messages.js";
import type { FleetDirectory } from "./directory.js";
import { type Call, CallLost, type CallRequest, type FleetCalls } from "./fleet-calls.js";

export interface NodePlacesParts {
  readonly calls: FleetCalls;
  /** Of the nodes that do this kind of work. */
  readonly directory: FleetDirectory;
  readonly kind: ServedPart;
  readonly cell: string;
  readonly zone: string;
  readonly model: string;
  /** Hash of the model's manifest. */
  readonly manifest: string;
  /** Work that finds no node with room is refused after so long. */
  readonly waitMs: number;
  /** So much more work, or less, waits for a node or is on one. */
  readonly onWork?: (change: number) => void;
  /** From 0 to 1, exclusive. */
  readonly random?: () => number;
}

/** A node that a call may be made to. */
interface NodePlace {
  readonly node: string;
  /** Makes the one call of this place. */
  call(request: Pick<CallRequest, "body" | "traceparents" | "onPart" | "bytesOf">): Call;
  /** Leaves the node; may be called twice. */
  leave(): void;
}

/** The nodes that serve one model for one kind of work, and the calls of this front on them. */
export class NodePlaces {
  readonly #parts: NodePlacesParts;
  /** Of all that waits for a node or is on one. */
  readonly #works = new Set<AbortController>();
  #isClosed = false;

  constructor(parts: NodePlacesParts) {
    this.#parts = parts;
  }

  /** What all nodes that serve the model take at once. */
  get capacity(): number {
    return this.#beats.reduce((sum, { capacity }) => sum + capacity, 0);
  }

  /** Frames of speech that fill the largest run of any node's workers: of the least of them; 0 where one runs pieces alone. */
  get runFrames(): number {
    const each = this.#beats.map(({ runFrames = 0 }) => runFrames);
    return each.length === 0 ? 0 : Math.min(...each);
  }

  /** Of nodes that serve the model. */
  get #beats(): readonly Beat[] {
    const { directory, cell, model, manifest } = this.#parts;
    return directory.beats.filter(
      (beat) => beat.cell === cell && beat.model === model && beat.manifest === manifest && !beat.isDraining,
    );
  }

  /** Waits until a node has room, as long as it takes. @throws {ServiceError} `SHUTTING_DOWN` */
  async await(): Promise<void> {
    const { leave } = await this.#take(new AbortController().signal, null);
    leave();
  }

  /**
   * Waits for a node with room.
   * @throws {ServiceError} `CANCELLED`, `SHUTTING_DOWN`, `ENGINE_BUSY` when there is none for too long
   */
  take(signal: AbortSignal): Promise<NodePlace> {
    return this.#take(signal, this.#parts.waitMs);
  }

  /** Ends what waits and what runs. */
  close(): void {
    this.#isClosed = true;
    for (const work of this.#works) work.abort(shuttingDown());
  }

  async #take(signal: AbortSignal, waitMs: number | null): Promise<NodePlace> {
    const { calls, directory, kind, cell, zone, model, manifest, random = Math.random } = this.#parts;
    if (this.#isClosed) throw shuttingDown();
    const work = new AbortController();
    const onAbort = () => work.abort(new ServiceError("CANCELLED", "the work was cancelled"));
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    this.#works.add(work);
    this.#parts.onWork?.(1);
    const timer = waitMs === null ? undefined : setTimeout(() => work.abort(noRoom()), waitMs);
    const end = () => {
      signal.removeEventListener("abort", onAbort);
      if (this.#works.delete(work)) this.#parts.onWork?.(-1);
    };
    const protocol = { least: CALL_VERSION, most: CALL_VERSION };
    const wanted = { cell, zone, model, manifest, protocol };
    let node = "";
    // A node that drains finishes what it has.
    const watcher = { silent: () => calls.silent(kind, node), draining: () => {} };
    try {
      const taken = await directory.take(wanted, watcher, random, work.signal);
      node = taken.node;
      return {
        node,
        leave: () => {
          taken.leave();
          end();
        },
        call: (request) => this.#call(node, request, work.signal),
      };
    } catch (error) {
      end();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #call(
    node: string,
    request: Pick<CallRequest, "body" | "traceparents" | "onPart" | "bytesOf">,
    signal: AbortSignal,
  ): Call {
    const { calls, directory, kind, model, manifest } = this.#parts;
    const call = calls.begin({ ...request, node, kind, model, manifest }, signal);
    call.answer.catch((error: unknown) => {
      if (!(error instanceof CallLost)) return;
      if (error.ending === "gone") directory.forget(node);
      else directory.passBy(node);
    });
    return call;
  }
}

function noRoom(): ServiceError {
  return new ServiceError("ENGINE_BUSY", "no engine has room now, try again");
}

function shuttingDown(): ServiceError {
  return new ServiceError("SHUTTING_DOWN", "the service is stopping");
}
