import { Histogram } from "./histogram.js";

/** A sequence of messages, one every `periodMs`. */
export interface PacedMessages {
  /** When the first message is due, on the clock of `performance.now()`. */
  readonly firstAtMs: number;
  readonly periodMs: number;
  readonly count: number;
  /** Sends a message. @returns false to end the sequence early */
  send(index: number): boolean;
  /** Called once, after the last message. */
  ended(): void;
}

/**
 * How early a message may leave. Timers count whole milliseconds and fire up to one too early: waiting again
 * would double the wake-ups, and make most messages a millisecond late.
 */
const EARLY_MS = 0.5;

interface Entry {
  readonly messages: PacedMessages;
  next: number;
}

/**
 * Sends the messages of all sessions from one timer, a wheel with one slot per millisecond.
 *
 * A message that leaves late does not delay the next ones, so a slow service or machine never changes the
 * schedule.
 */
export class Pacer {
  /** How late messages left, in milliseconds. */
  readonly lateness = new Histogram();
  readonly #slots = new Map<number, Entry[]>();
  #doneMs = Math.floor(performance.now());
  #timer: NodeJS.Timeout | null = null;
  #timerAtMs = Number.POSITIVE_INFINITY;

  add(messages: PacedMessages): void {
    this.#place({ messages, next: 0 });
    this.#arm();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#slots.clear();
  }

  #place(entry: Entry): void {
    const { firstAtMs, periodMs } = entry.messages;
    const slot = Math.max(this.#doneMs + 1, Math.ceil(firstAtMs + entry.next * periodMs));
    const others = this.#slots.get(slot);
    if (others === undefined) this.#slots.set(slot, [entry]);
    else others.push(entry);
  }

  #arm(): void {
    let soonest = Number.POSITIVE_INFINITY;
    for (const slot of this.#slots.keys()) soonest = Math.min(soonest, slot);
    if (soonest >= this.#timerAtMs || soonest === Number.POSITIVE_INFINITY) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timerAtMs = soonest;
    this.#timer = setTimeout(() => this.#tick(), Math.max(0, soonest - performance.now()));
  }

  #tick(): void {
    this.#timer = null;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    const untilMs = Math.floor(performance.now() + EARLY_MS);
    for (let slot = this.#doneMs + 1; slot <= untilMs; slot++) {
      const entries = this.#slots.get(slot);
      if (entries === undefined) continue;
      this.#slots.delete(slot);
      this.#doneMs = slot;
      for (const entry of entries) this.#send(entry);
    }
    this.#doneMs = untilMs;
    this.#arm();
  }

  #send(entry: Entry): void {
    const { messages } = entry;
    const nowMs = performance.now();
    this.lateness.add(Math.max(0, nowMs - (messages.firstAtMs + entry.next * messages.periodMs)));
    const goesOn = messages.send(entry.next);
    entry.next++;
    if (goesOn && entry.next < messages.count) this.#place(entry);
    else messages.ended();
  }
}
