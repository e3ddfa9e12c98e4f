import { asServiceError, errorName } from "../../core/domain/errors.js";
import type { ServedPart } from "../../core/domain/served.js";
import { deferred } from "../../core/kernel/deferred.js";
import type { Log } from "../../core/observe/log.js";
import type { Bus, BusMessage } from "../../core/ports/bus.js";
import type { Clock } from "../../core/ports/clock.js";
import { NO_TRACER, type Span, type Tracer, together } from "../../core/ports/span.js";
import {
  CALL_VERSION,
  decodeToHost,
  encodeCall,
  type ToCaller,
  type ToHost,
} from "../fleet/call-messages.js";
import { encodeHeartbeat, HEARTBEAT_EVERY_MS } from "../fleet/heartbeats.js";
import { answersTo, callsTo, frontGone, heartbeatsOf, lastWord } from "../fleet/subjects.js";
import { Drained } from "./drained.js";

/** A call as seen by the function that performs it. */
export interface HostedCall {
  /** The front's request; large data is pulled separately. */
  readonly body: unknown;
  /** Aborted when the front cancels the call or is lost. */
  readonly signal: AbortSignal;
  readonly span: Span;
  /** Sends a part before the answer. */
  send(value: unknown): void;
  /** Requests bytes of an item. The caller owns the result. @throws if the call ends first */
  pull(item: number, start: number, count: number): Promise<Uint8Array>;
  /** Receives the front's notes. */
  onNote: (value: unknown) => void;
}

export interface CallHostOptions {
  readonly bus: Bus;
  readonly node: string;
  readonly cell: string;
  readonly zone: string;
  readonly kind: ServedPart;
  readonly model: string;
  readonly manifest: string;
  /** Maximum number of concurrent calls. */
  readonly capacity: number;
  /** Frames of speech that fill the largest run of the host's workers; 0 if workers run pieces alone. */
  readonly runFrames?: () => number;
  /** Hash of the manifest of its model for diarization; absent without one. */
  readonly diarization?: string | undefined;
  /** True if the workers have used up their restarts. */
  readonly isGivenUp?: () => boolean;
  /** Performs a call and returns its answer. An error is sent as a `ServiceError`. */
  readonly perform: (call: HostedCall) => Promise<unknown>;
  readonly clock: Clock;
  readonly log: Log;
  /** Continues the traces of fronts. */
  readonly tracer?: Tracer;
}

/** A front silent for this long is considered lost; a front with calls lists them ten times a second. */
const FRONT_LOST_MS = 10_000;

interface Running {
  readonly front: string;
  readonly id: number;
  readonly abort: AbortController;
  readonly pulls: Map<number, (bytes: Uint8Array) => void>;
  readonly call: HostedCall;
  /** Number of messages sent to the front. */
  sent: number;
  pulled: number;
}

/** The engine side of one kind of call: performs calls of fronts, and sends heartbeats. */
export class CallHost {
  readonly #lost = deferred<Error>();
  /** Resolves when the workers have used up their restarts; the process should then end and be restarted. */
  readonly lost = this.#lost.promise;
  readonly #options: CallHostOptions;
  /** Calls by front and number. */
  readonly #running = new Map<string, Running>();
  readonly #fronts = new Map<string, { heardAtMs: number; nextMessage: number }>();
  readonly #endings: (() => void)[] = [];
  #isDraining = false;
  readonly #drained = new Drained();

  constructor(options: CallHostOptions) {
    this.#options = options;
  }

  get callCount(): number {
    return this.#running.size;
  }

  get capacity(): number {
    const { capacity, isGivenUp = () => false } = this.#options;
    return isGivenUp() ? 0 : capacity;
  }

  get isReady(): boolean {
    return !this.#isDraining && this.capacity > 0;
  }

  /** Subscribes to calls and starts the heartbeats. */
  async start(): Promise<void> {
    const { bus, node, kind } = this.#options;
    const heartbeats = setInterval(() => this.#heartbeat(), HEARTBEAT_EVERY_MS);
    this.#endings.push(
      () => clearInterval(heartbeats),
      bus.subscribe(callsTo(node, kind), (message) => this.#hear(message)),
      bus.subscribe(frontGone(node, kind), ({ subject, isUndelivered }) => {
        if (isUndelivered) this.#leave(lastWord(subject));
      }),
      // Messages may have been lost; fronts repeat their calls.
      bus.onReconnect(() => this.#endAll()),
    );
    // The subscriptions must be active before a front learns of the node.
    await bus.flush();
    this.#heartbeat();
  }

  /** Accepts no more calls. Resolves when none is left, or after `withinMs`. */
  async drain(withinMs: number): Promise<void> {
    this.#isDraining = true;
    this.#heartbeat();
    await this.#drained.within(withinMs, this.#running.size === 0);
  }

  stop(): void {
    for (const end of this.#endings.splice(0)) end();
    this.#endAll();
  }

  #heartbeat(): void {
    const { bus, clock, node, cell, zone, kind, model, manifest, diarization } = this.#options;
    if (this.#endings.length === 0) return;
    const nowMs = clock.nowMs();
    for (const [front, { heardAtMs }] of this.#fronts)
      if (nowMs - heardAtMs > FRONT_LOST_MS) this.#leave(front);
    if (this.capacity === 0) this.#lost.resolve(new Error(`workers for ${kind} have used up their restarts`));
    const runFrames = this.#options.runFrames?.() ?? 0;
    const heartbeat = encodeHeartbeat({
      ...{ node, cell, zone, model, manifest },
      protocol: { least: CALL_VERSION, most: CALL_VERSION },
      ...{ capacity: this.capacity, used: this.#running.size, isDraining: this.#isDraining },
      ...(runFrames > 0 && { runFrames }),
      ...(diarization !== undefined && { diarization }),
    });
    bus.publish(heartbeatsOf(kind), heartbeat);
  }

  #hear({ subject, bytes }: BusMessage): void {
    const front = lastWord(subject);
    const message = decodeToHost(bytes);
    const { nth } = message;
    // A call may depend on the missing message. The front learns that its calls are unknown, and repeats
    // them.
    if (nth !== (this.#fronts.get(front)?.nextMessage ?? nth)) this.#endCallsOf(front);
    this.#fronts.set(front, { heardAtMs: this.#options.clock.nowMs(), nextMessage: nth + 1 });
    switch (message.type) {
      case "call":
        this.#take(front, message);
        return;
      case "note":
        this.#running.get(keyOf(front, message.call))?.call.onNote(message.value);
        return;
      case "pulled":
        this.#onPulled(front, message);
        return;
      case "cancel":
        this.#end(this.#running.get(keyOf(front, message.call)));
        return;
      case "alive":
        this.#compare(front, message);
    }
  }

  #take(front: string, message: Extract<ToHost, { type: "call" }>): void {
    const { model, manifest, tracer = NO_TRACER, node, kind, log } = this.#options;
    const isOurs = message.model === model && message.manifest === manifest;
    if (!isOurs || this.#isDraining || this.#running.size >= this.capacity) {
      this.#publish(front, message.call, { type: "refused" });
      return;
    }
    const { traceparent, otherTraceparents = [] } = message;
    const traceparents = traceparent === null ? [] : [traceparent, ...otherTraceparents];
    const running: Running = {
      front,
      id: message.call,
      abort: new AbortController(),
      pulls: new Map(),
      sent: 0,
      pulled: 0,
      call: {
        body: message.body,
        get signal() {
          return running.abort.signal;
        },
        span: together(
          traceparents.map((traceparent) => tracer.begin(`engine ${kind}`, traceparent, { node })),
        ),
        send: (value) => this.#say(running, { type: "part", n: running.sent, value }),
        pull: (item, start, count) => this.#pull(running, item, start, count),
        onNote: () => {},
      },
    };
    this.#running.set(keyOf(front, message.call), running);
    void this.#perform(running).catch((error: unknown) => log.error({ err: error }, "call not answered"));
  }

  async #perform(running: Running): Promise<void> {
    const { perform, log, kind } = this.#options;
    try {
      const value = await perform(running.call);
      this.#say(running, { type: "done", n: running.sent, value });
      running.call.span.end();
    } catch (thrown) {
      const { code, message, cause } = asServiceError(thrown);
      if (code === "INTERNAL" && !running.abort.signal.aborted)
        log.error({ kind, err: cause }, "call failed");
      this.#say(running, { type: "failed", n: running.sent, code, message });
      running.call.span.end(errorName(code));
    } finally {
      this.#end(running);
    }
  }

  #pull(running: Running, item: number, start: number, count: number): Promise<Uint8Array> {
    const pull = running.pulled++;
    const { signal } = running.abort;
    return new Promise((resolve, reject) => {
      const onAbort = () => reject(signal.reason);
      if (signal.aborted) return onAbort();
      signal.addEventListener("abort", onAbort, { once: true });
      running.pulls.set(pull, (bytes) => {
        signal.removeEventListener("abort", onAbort);
        resolve(bytes);
      });
      this.#say(running, { type: "pull", n: running.sent, pull, item, start, count });
    });
  }

  #onPulled(front: string, { call, pull, bytes }: Extract<ToHost, { type: "pulled" }>): void {
    const running = this.#running.get(keyOf(front, call));
    const take = running?.pulls.get(pull);
    running?.pulls.delete(pull);
    // The message's bytes are borrowed.
    take?.(new Uint8Array(bytes));
  }

  /** Ends calls that the front no longer lists, and reports listed calls that are unknown here. */
  #compare(front: string, { calls, isAsking }: Extract<ToHost, { type: "alive" }>): void {
    const alive = new Set(calls);
    for (const running of [...this.#running.values()])
      if (running.front === front && !alive.has(running.id)) this.#end(running);
    for (const call of calls) {
      const running = this.#running.get(keyOf(front, call));
      if (running === undefined) this.#publish(front, call, { type: "unknown" });
      else if (isAsking) this.#publish(front, call, { type: "said", count: running.sent });
    }
  }

  #leave(front: string): void {
    this.#fronts.delete(front);
    this.#endCallsOf(front);
  }

  #endCallsOf(front: string): void {
    for (const running of [...this.#running.values()]) if (running.front === front) this.#end(running);
  }

  #endAll(): void {
    for (const running of [...this.#running.values()]) this.#end(running);
  }

  #end(running: Running | undefined): void {
    if (running === undefined || !this.#running.delete(keyOf(running.front, running.id))) return;
    running.abort.abort();
    // Announce the free place to waiting fronts immediately.
    if (this.#running.size === this.capacity - 1) this.#heartbeat();
    if (this.#running.size === 0) this.#drained.notify();
  }

  #say(running: Running, message: Exclude<ToCaller, { type: "said" | "refused" | "unknown" }>): void {
    if (!this.#running.has(keyOf(running.front, running.id))) return;
    running.sent++;
    this.#publish(running.front, running.id, message);
  }

  #publish(front: string, call: number, message: ToCaller): void {
    const { bus, node, kind } = this.#options;
    bus.publish(answersTo(front, call), encodeCall(message), frontGone(node, kind, front));
  }
}

function keyOf(front: string, call: number): string {
  return `${front}.${call}`;
}
