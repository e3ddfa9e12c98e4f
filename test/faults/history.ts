import { once } from "node:events";
import { createWriteStream, readFileSync, type WriteStream } from "node:fs";
import type { FaultKind } from "./schedule.js";

/**
 * Everything that clients, faults and the ledger did in a run, in order. Times are in milliseconds since its
 * start.
 */
export type HistoryEvent = Readonly<{ atMs: number }> &
  (FaultEvent | ReferenceEvent | RequestEvent | LiveEvent | LedgerEvent);

type FaultEvent =
  | Readonly<{
      type: "fault";
      round: number;
      kind: FaultKind;
      target: number;
      phase: "applied" | "healed" | "sound";
    }>
  /** Recorded if the fleet did not recover or could not be stopped. */
  | Readonly<{ type: "unsound"; detail: string }>;

/** The results of an undisturbed fleet. */
type ReferenceEvent =
  | Readonly<{ type: "reference finals"; clip: string; finals: readonly string[]; ids: readonly string[] }>
  | Readonly<{
      type: "reference response";
      work: string;
      digest: string;
      credits: number;
      chargedId: string;
    }>;

/** A billed request, repeated under its key until it gets a response. */
type RequestEvent =
  | Readonly<{ type: "request"; key: string; work: string }>
  | Readonly<{ type: "attempt"; key: string; status: number | null; detail: string }>
  | Readonly<{ type: "response"; key: string; chargedId: string; digest: string; isReplay: boolean }>;

/** A live session of the client library, over one or more connections. */
type LiveEvent =
  | Readonly<{ type: "live"; session: string; clip: string }>
  | Readonly<{ type: "live connection"; session: string; id: string }>
  | Readonly<{ type: "live reconnecting"; session: string; detail: string }>
  | Readonly<{ type: "live partial"; session: string; utterance: number; text: string; stable: number }>
  | Readonly<{ type: "live final"; session: string; utterance: number; text: string }>
  | Readonly<{
      type: "live done";
      session: string;
      /** Credits that the connections reported, excluding the broken ones. */
      credits: number;
      brokenConnections: number;
      /** Credits for all audio that was sent, each part counted once. */
      sentCredits: number;
    }>
  | Readonly<{ type: "live failed"; session: string; sentCredits: number; detail: string }>;

/** The contents of the ledger after the last request has ended. */
type LedgerEvent = Readonly<{
  type: "ledger";
  holds: readonly Readonly<{ id: string; kind: string; state: string; credits: number; charges: number }>[];
  /** Requests with a key: for each key the last attempt, and the one that was charged before it. */
  keys: readonly Readonly<{ key: string; state: string; requestId: string; paidRequestId: string | null }>[];
  brokenRules: readonly object[];
}>;

/** An event without its time. */
export type NewEvent = HistoryEvent extends infer Event
  ? Event extends HistoryEvent
    ? Omit<Event, "atMs">
    : never
  : never;

/** A history that is kept in memory and written line by line to a file. */
export class History {
  readonly events: HistoryEvent[] = [];
  readonly #file: WriteStream;
  readonly #startedAtMs = performance.now();

  constructor(path: string) {
    this.#file = createWriteStream(path);
  }

  add(event: NewEvent): void {
    const atMs = Math.round(performance.now() - this.#startedAtMs);
    const whole = { atMs, ...event } as HistoryEvent;
    this.events.push(whole);
    this.#file.write(`${JSON.stringify(whole)}\n`);
  }

  async end(): Promise<void> {
    this.#file.end();
    await once(this.#file, "finish");
  }
}

/** Reads a saved history. */
export function readHistory(path: string): readonly HistoryEvent[] {
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as HistoryEvent);
}
