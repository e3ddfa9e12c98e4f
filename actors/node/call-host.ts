import { asServiceError, errorName } from "../../core/domain/errors.js";
import type { ServedPart } from "../../core/domain/served.js";
import type { Log } from "../../core/observe/log.js";
import type { Bus, BusMessage } from "../../core/ports/bus.js";
import type { Clock } from "../../core/ports/clock.js";
import { NO_TRACER, type Span, type Tracer, together } from "../../core/ports/span.js";
import { BEAT_EVERY_MS, encodeBeat } from "../fleet/beats.js";
import {
  CALL_VERSION,
  decodeToHost,
  encodeCall,
  type ToCaller,
  type ToHost,
} from "../fleet/call-messages.js";
import { answersTo, beatsOf, callsTo, frontGone, lastWord } from "../fleet/call-subjects.js";
import { Emptied } from "./emptied.js";

/** A call as the host's work sees it. */
export interface HostedCall {
  /** As the front has said it: no bytes, which are pulled. */
  readonly body: unknown;
  /** Aborted when its front does not want it any more, or is gone. */
  readonly signal: AbortSignal;
  readonly span: Span;
  /** Says something before the answer. */
  send(value: unknown): void;
  /** Bytes of a thing that the front has, the caller's from here on. @throws when the call is over first */
  pull(item: number, start: number, count: number): Promise<Uint8Array>;
  /** Told what the front says more. */
  onNote: (value: unknown) => void;
}

export interface CallHostOptions {
  readonly bus: Bus;
  /** Random, of this run of the process. */
  readonly node: string;
  readonly cell: string;
  readonly zone: string;
  readonly kind: ServedPart;
  readonly model: string;
  /** Hash of the model's manifest. */
  readonly manifest: string;
  /** Calls that it takes at once. */
  readonly capacity: number;
  /** Frames of speech that fill the largest run of its workers; 0 where pieces run alone. */
  readonly runFrames?: () => number;
  /** Its workers do not come back. */
  readonly isGivenUp?: () => boolean;
  /** Does the work of a call. What it returns is the answer; what it throws is told as a `ServiceError`. */
  readonly perform: (call: HostedCall) => Promise<unknown>;
  readonly clock: Clock;
  readonly log: Log;
  /** Goes on with the traces of fronts. */
  readonly tracer?: Tracer;
}

/** A front that says nothing for so long is gone; while it has calls it says ten times a second which. */
const FRONT_LOST_MS = 10_000;

interface Running {
  readonly front: string;
  readonly id: number;
  readonly abort: AbortController;
  readonly pulls: Map<number, (bytes: Uint8Array) => void>;
  readonly call: HostedCall;
  /** Messages to the front so far. */
  said: number;
  pulled: number;
}

/** The engine side of calls of one kind: takes them from fronts, and tells fronts that it is there. */
export class CallHost {
  /** Settles when its workers do not come back: the process should end and be started again. */
  readonly lost: Promise<Error>;
  readonly #options: CallHostOptions;
  /** By front and number. */
  readonly #running = new Map<string, Running>();
  readonly #fronts = new Map<string, { heardAtMs: number; nextMessage: number }>();
  readonly #endings: (() => void)[] = [];
  #isDraining = false;
  readonly #emptied = new Emptied();
  #tellLost: (error: Error) => void = () => {};

  constructor(options: CallHostOptions) {
    this.#options = options;
    this.lost = new Promise((resolve) => {
      this.#tellLost = resolve;
    });
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

  /** Tells fronts that the node is there. */
  async start(): Promise<void> {
    const { bus, node, kind } = this.#options;
    const beats = setInterval(() => this.#beat(), BEAT_EVERY_MS);
    this.#endings.push(
      () => clearInterval(beats),
      bus.subscribe(callsTo(node, kind), (message) => this.#hear(message)),
      bus.subscribe(frontGone(node, kind), ({ subject, isUnheard }) => {
        if (isUnheard) this.#leave(lastWord(subject));
      }),
      // What was said meanwhile is lost; fronts make their calls again.
      bus.onReconnect(() => this.#endAll()),
    );
    // A front that hears of the node is heard by it.
    await bus.flush();
    this.#beat();
  }

  /** Takes no more calls. Settles when none is left, or after `withinMs`. */
  async drain(withinMs: number): Promise<void> {
    this.#isDraining = true;
    this.#beat();
    await this.#emptied.within(withinMs, this.#running.size === 0);
  }

  stop(): void {
    for (const end of this.#endings.splice(0)) end();
    this.#endAll();
  }

  #beat(): void {
    const { bus, clock, node, cell, zone, kind, model, manifest } = this.#options;
    if (this.#endings.length === 0) return;
    const nowMs = clock.nowMs();
    for (const [front, { heardAtMs }] of this.#fronts)
      if (nowMs - heardAtMs > FRONT_LOST_MS) this.#leave(front);
    if (this.capacity === 0) this.#tellLost(new Error(`workers for ${kind} do not come back`));
    const protocol = { least: CALL_VERSION, most: CALL_VERSION };
    const taken = { capacity: this.capacity, used: this.#running.size, isDraining: this.#isDraining };
    const runFrames = this.#options.runFrames?.() ?? 0;
    bus.publish(
      beatsOf(kind),
      encodeBeat({
        ...{ node, cell, zone, model, manifest, protocol },
        ...taken,
        ...(runFrames > 0 && { runFrames }),
      }),
    );
  }

  #hear({ subject, bytes }: BusMessage): void {
    const front = lastWord(subject);
    const message = decodeToHost(bytes);
    const { nth } = message;
    // Something is missing: a call may wait for it. The front hears that its calls are not known, and makes them again.
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
      said: 0,
      pulled: 0,
      call: {
        body: message.body,
        get signal() {
          return running.abort.signal;
        },
        span: together(
          traceparents.map((traceparent) => tracer.begin(`engine ${kind}`, traceparent, { node })),
        ),
        send: (value) => this.#say(running, { type: "part", n: running.said, value }),
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
      this.#say(running, { type: "done", n: running.said, value });
      running.call.span.end();
    } catch (thrown) {
      const { code, message, cause } = asServiceError(thrown);
      if (code === "INTERNAL" && !running.abort.signal.aborted)
        log.error({ kind, err: cause }, "call failed");
      this.#say(running, { type: "failed", n: running.said, code, message });
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
      this.#say(running, { type: "pull", n: running.said, pull, item, start, count });
    });
  }

  #onPulled(front: string, { call, pull, bytes }: Extract<ToHost, { type: "pulled" }>): void {
    const running = this.#running.get(keyOf(front, call));
    const take = running?.pulls.get(pull);
    running?.pulls.delete(pull);
    // The message's bytes are lent.
    take?.(new Uint8Array(bytes));
  }

  /** Ends what the front has forgotten, and tells it what is not known here. */
  #compare(front: string, { calls, isAsking }: Extract<ToHost, { type: "alive" }>): void {
    const alive = new Set(calls);
    for (const running of [...this.#running.values()])
      if (running.front === front && !alive.has(running.id)) this.#end(running);
    for (const call of calls) {
      const running = this.#running.get(keyOf(front, call));
      if (running === undefined) this.#publish(front, call, { type: "unknown" });
      else if (isAsking) this.#publish(front, call, { type: "said", count: running.said });
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
    // Fronts that wait hear of the room at once.
    if (this.#running.size === this.capacity - 1) this.#beat();
    if (this.#running.size === 0) this.#emptied.tell();
  }

  #say(running: Running, message: Exclude<ToCaller, { type: "said" | "refused" | "unknown" }>): void {
    if (!this.#running.has(keyOf(running.front, running.id))) return;
    running.said++;
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
