import { ServiceError, shuttingDown } from "../../core/domain/errors.js";
import type { ServedPart } from "../../core/domain/served.js";
import { CALL_VERSION } from "./call-messages.js";
import type { FleetDirectory } from "./directory.js";
import { type Call, CallLost, type CallRequest, type FleetCalls } from "./fleet-calls.js";
import type { Heartbeat } from "./heartbeats.js";

export interface NodePlacesParts {
  readonly calls: FleetCalls;
  readonly directory: FleetDirectory;
  readonly kind: ServedPart;
  readonly cell: string;
  readonly zone: string;
  readonly model: string;
  readonly manifest: string;
  /** Time after which work without a node is rejected. */
  readonly waitMs: number;
  /** Called with the difference when the amount of work that waits for a node or runs on one changes. */
  readonly onWork?: (change: number) => void;
  readonly random?: () => number;
}

/** A node with room for one call. */
interface NodePlace {
  readonly node: string;
  call(request: Pick<CallRequest, "body" | "traceparents" | "onPart" | "bytesOf">): Call;
  /** Leaves the node; may be called twice. */
  leave(): void;
}

/** The nodes that serve one model for one kind of work, and this front's calls to them. */
export class NodePlaces {
  readonly #parts: NodePlacesParts;
  /** Aborts work that waits for a node or runs on one. */
  readonly #works = new Set<AbortController>();
  #isClosed = false;

  constructor(parts: NodePlacesParts) {
    this.#parts = parts;
  }

  /** Total number of concurrent calls that all nodes of the model accept. */
  get capacity(): number {
    return sumOfCapacities(this.#heartbeats);
  }

  /** Calls that the nodes with a model for diarization accept at a time. @param manifest its hash */
  capacityWith(manifest: string): number {
    return sumOfCapacities(this.#heartbeats.filter(({ diarization }) => diarization === manifest));
  }

  /** Frames of speech that fill the largest run of every node's workers; 0 if any node runs pieces alone. */
  get runFrames(): number {
    const each = this.#heartbeats.map(({ runFrames = 0 }) => runFrames);
    return each.length === 0 ? 0 : Math.min(...each);
  }

  get #heartbeats(): readonly Heartbeat[] {
    const { directory, cell, model, manifest } = this.#parts;
    return directory.heartbeats.filter(
      (heartbeat) =>
        heartbeat.cell === cell &&
        heartbeat.model === model &&
        heartbeat.manifest === manifest &&
        !heartbeat.isDraining,
    );
  }

  /** Waits without limit until a node has room. @throws {ServiceError} `SHUTTING_DOWN` */
  async await(): Promise<void> {
    const { leave } = await this.#take(new AbortController().signal, null, null);
    leave();
  }

  /**
   * Waits for a node with room.
   * @param diarization hash of the manifest of a model for diarization that the node must have
   * @throws {ServiceError} `CANCELLED`, `SHUTTING_DOWN`, `ENGINE_BUSY` after `waitMs`
   */
  take(signal: AbortSignal, diarization: string | null = null): Promise<NodePlace> {
    return this.#take(signal, diarization, this.#parts.waitMs);
  }

  /** Aborts waiting and running work. */
  close(): void {
    this.#isClosed = true;
    for (const work of this.#works) work.abort(shuttingDown());
  }

  async #take(signal: AbortSignal, diarization: string | null, waitMs: number | null): Promise<NodePlace> {
    const { calls, directory, kind, cell, zone, model, manifest, random = Math.random } = this.#parts;
    if (this.#isClosed) throw shuttingDown();
    const work = new AbortController();
    const onAbort = () => work.abort(new ServiceError("CANCELLED", "the work was cancelled"));
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    this.#works.add(work);
    this.#parts.onWork?.(1);
    const timer = waitMs === null ? undefined : setTimeout(() => work.abort(noRoom(diarization)), waitMs);
    const end = () => {
      signal.removeEventListener("abort", onAbort);
      if (this.#works.delete(work)) this.#parts.onWork?.(-1);
    };
    const protocol = { least: CALL_VERSION, most: CALL_VERSION };
    const needs = diarization !== null && { diarization };
    const wanted = { cell, zone, model, manifest, protocol, ...needs };
    let node = "";
    // A draining node finishes its calls.
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
      else directory.avoid(node);
    });
    return call;
  }
}

function sumOfCapacities(heartbeats: readonly Heartbeat[]): number {
  return heartbeats.reduce((sum, { capacity }) => sum + capacity, 0);
}

function noRoom(diarization: string | null): ServiceError {
  const which = diarization === null ? "no engine" : "no engine that tells speakers apart";
  return new ServiceError("ENGINE_BUSY", `${which} has room now, try again`);
}
