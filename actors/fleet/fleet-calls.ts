import { ServiceError } from "../../core/domain/errors.js";
import type { ServedPart } from "../../core/domain/served.js";
import type { Bus, BusMessage } from "../../core/ports/bus.js";
import { decodeToCaller, encodeCall, type ToCaller, type ToHost } from "./call-messages.js";
import { SequenceCheck } from "./lane-window.js";
import { answersTo, callsTo, lastWord, nodeGone } from "./subjects.js";

/** Why a call ended without an answer. The call may be repeated on another node. */
export type CallEnding =
  /** No process subscribes to the node's subject. */
  | "gone"
  /** The node sent no heartbeat. */
  | "silent"
  /** A message from the node is missing. */
  | "gap"
  /** The node does not know the call. */
  | "unknown"
  /** The connection to the bus was lost during the call. */
  | "reconnect"
  /** The node has no room for the call. */
  | "refused";

export class CallLost extends Error {
  override readonly name = "CallLost";
  readonly ending: CallEnding;

  constructor(ending: CallEnding, node: string) {
    super(`the call to engine node ${node} is lost: ${ending}`);
    this.ending = ending;
  }
}

/** Counts calls, for metrics. */
export interface CallObserver {
  began(kind: ServedPart): void;
  ended(kind: ServedPart): void;
  lost(kind: ServedPart, ending: CallEnding): void;
}

export interface CallRequest {
  readonly node: string;
  readonly kind: ServedPart;
  readonly model: string;
  readonly manifest: string;
  readonly body: unknown;
  /** Traces of the requests that share the call; the node continues them. */
  readonly traceparents: readonly string[];
  /**
   * Called with each part before the answer, in order. Bytes in a part are borrowed. An error ends the call.
   */
  readonly onPart: (value: unknown) => void;
  /** Reads bytes that the node requests from the item with this number. An error ends the call. */
  readonly bytesOf?: (item: number, start: number, count: number) => Promise<Uint8Array>;
}

/** A call in flight. */
export interface Call {
  /**
   * Rejects with `CallLost`, the node's failure, or the signal's reason. Bytes in the value are borrowed:
   * read them in the same turn of the event loop.
   */
  readonly answer: Promise<unknown>;
  /** Sends the node a later message about the call. */
  note(value: unknown): void;
}

interface Pending {
  readonly id: number;
  readonly request: CallRequest;
  readonly heard: SequenceCheck;
  readonly settle: (outcome: { readonly value: unknown } | { readonly error: unknown }) => void;
}

/** Interval at which each node receives a list of its calls. The list also detects a dead node. */
const ALIVE_EVERY_MS = 100;
/** Every fifth list asks the node for its message count, because its last message may have been lost. */
const ASKS_EVERY = 5;

/** Calls of this process to engine nodes. If any message is lost, the call ends; nothing is repaired. */
export class FleetCalls {
  readonly #bus: Bus;
  readonly #front: string;
  readonly #observer: CallObserver;
  readonly #calls = new Map<number, Pending>();
  readonly #endings: (() => void)[];
  /** Messages sent to each host, by its subject. */
  readonly #sent = new Map<string, number>();
  #nextCall = 0;
  #aliveTimer: NodeJS.Timeout | undefined;
  #aliveCount = 0;

  /** @param parts.front random name, new in each run of the process */
  constructor(parts: { readonly bus: Bus; readonly front: string; readonly observer: CallObserver }) {
    const { bus, front } = parts;
    this.#bus = bus;
    this.#front = front;
    this.#observer = parts.observer;
    this.#endings = [
      bus.subscribe(answersTo(front), (message) => this.#hear(message)),
      bus.subscribe(nodeGone(front), (message) => this.#hearLoss(message)),
      bus.onReconnect(() => this.#loseAll(() => true, "reconnect")),
    ];
  }

  /** @param signal aborts the call, which then rejects with the signal's reason */
  begin(request: CallRequest, signal: AbortSignal): Call {
    const id = this.#nextCall++;
    const { node, kind, model, manifest, body, traceparents } = request;
    const answer = new Promise<unknown>((resolve, reject) => {
      const onAbort = () => {
        if (!this.#calls.has(id)) return;
        this.#say(request, { type: "cancel", call: id });
        settle({ error: signal.reason });
      };
      const settle: Pending["settle"] = (outcome) => {
        if (!this.#calls.delete(id)) return;
        signal.removeEventListener("abort", onAbort);
        if (this.#calls.size === 0) clearInterval(this.#aliveTimer);
        this.#observer.ended(kind);
        if ("error" in outcome) reject(outcome.error);
        else resolve(outcome.value);
      };
      if (this.#calls.size === 0) this.#aliveTimer = setInterval(() => this.#sayAlive(), ALIVE_EVERY_MS);
      this.#calls.set(id, { id, request, heard: new SequenceCheck(), settle });
      this.#observer.began(kind);
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) onAbort();
      else {
        const [traceparent = null, ...others] = traceparents;
        this.#say(request, {
          ...{ type: "call", call: id, model, manifest, body, traceparent },
          ...(others.length > 0 && { otherTraceparents: others }),
        });
      }
    });
    return {
      answer,
      note: (value) => {
        if (this.#calls.has(id)) this.#say({ node, kind }, { type: "note", call: id, value });
      },
    };
  }

  /** Ends the calls to a node that sends no heartbeat. */
  silent(kind: ServedPart, node: string): void {
    this.#loseAll(({ request }) => request.kind === kind && request.node === node, "silent");
  }

  close(): void {
    this.#loseAll(() => true, "gone");
    for (const end of this.#endings) end();
  }

  #hear({ subject, bytes }: BusMessage): void {
    const pending = this.#calls.get(Number(lastWord(subject)));
    if (pending === undefined) return;
    const message = decodeToCaller(bytes);
    if (message.type === "refused" || message.type === "unknown") {
      this.#lose(pending, message.type);
      return;
    }
    if (message.type === "said") {
      if (message.count > pending.heard.count) this.#loseInTheMiddle(pending);
      return;
    }
    if (!pending.heard.take(message.n)) {
      this.#loseInTheMiddle(pending);
      return;
    }
    try {
      this.#take(pending, message);
    } catch (error) {
      this.#giveUp(pending);
      pending.settle({ error });
    }
  }

  #take(pending: Pending, message: Exclude<ToCaller, { type: "said" | "refused" | "unknown" }>): void {
    switch (message.type) {
      case "part":
        pending.request.onPart(message.value);
        return;
      case "pull":
        void this.#answerPull(pending, message);
        return;
      case "done":
        pending.settle({ value: message.value });
        return;
      case "failed":
        pending.settle({ error: new ServiceError(message.code, message.message) });
    }
  }

  async #answerPull(
    pending: Pending,
    { pull, item, start, count }: Extract<ToCaller, { type: "pull" }>,
  ): Promise<void> {
    const { id, request } = pending;
    try {
      const bytes = await request.bytesOf?.(item, start, count);
      if (bytes === undefined)
        throw new ServiceError("INTERNAL", "an engine requested bytes that do not exist");
      if (this.#calls.has(id)) this.#say(request, { type: "pulled", call: id, pull, bytes });
    } catch (error) {
      this.#giveUp(pending);
      pending.settle({ error });
    }
  }

  #loseInTheMiddle(pending: Pending): void {
    this.#giveUp(pending);
    this.#lose(pending, "gap");
  }

  #giveUp({ id, request }: Pending): void {
    this.#say(request, { type: "cancel", call: id });
  }

  #hearLoss({ subject, isUndelivered }: BusMessage): void {
    if (!isUndelivered) return;
    const node = lastWord(subject);
    const kind = lastWord(subject.slice(0, -node.length - 1));
    this.#loseAll(({ request }) => request.kind === kind && request.node === node, "gone");
    this.#sent.delete(callsTo(node, kind as ServedPart, this.#front));
  }

  #loseAll(isLost: (pending: Pending) => boolean, ending: CallEnding): void {
    for (const pending of [...this.#calls.values()]) if (isLost(pending)) this.#lose(pending, ending);
  }

  #lose(pending: Pending, ending: CallEnding): void {
    const { node, kind } = pending.request;
    if (this.#calls.has(pending.id)) this.#observer.lost(kind, ending);
    pending.settle({ error: new CallLost(ending, node) });
  }

  #sayAlive(): void {
    const byHost = new Map<string, Pending[]>();
    for (const pending of this.#calls.values()) {
      const { node, kind } = pending.request;
      const subject = callsTo(node, kind, this.#front);
      byHost.set(subject, [...(byHost.get(subject) ?? []), pending]);
    }
    const isAsking = ++this.#aliveCount % ASKS_EVERY === 0;
    for (const calls of byHost.values())
      this.#say(calls[0]!.request, { type: "alive", calls: calls.map(({ id }) => id), isAsking });
  }

  #say({ node, kind }: Pick<CallRequest, "node" | "kind">, message: ToHost): void {
    const front = this.#front;
    const subject = callsTo(node, kind, front);
    const nth = this.#sent.get(subject) ?? 0;
    this.#sent.set(subject, nth + 1);
    this.#bus.publish(subject, encodeCall({ ...message, nth }), nodeGone(front, kind, node));
  }
}
