import type { LiveRun } from "../../bench/support/live-client.js";

/** A fault in a fleet, and the time at which its gateway noticed it. */
export interface FaultMoment {
  readonly fault: string;
  readonly atMs: number;
  readonly noticedAtMs: number;
}

/** One kind of fault, over all rounds. */
interface FaultFigures {
  readonly fault: string;
  readonly times: number;
  /** The time from the fault until the gateway noticed it. */
  readonly noticedAfterMs: { readonly p50: number; readonly most: number };
  readonly finals: number;
  /**
   * The time from the end of an utterance's speech, as its final states it, to the arrival of the final, over
   * all finals before the next fault.
   */
  readonly finalAfterMs: { readonly p50: number; readonly p95: number; readonly most: number };
}

/** Computes, for each kind of fault, how long it took to be noticed and how late the finals after it were. */
export function figuresOf(moments: readonly FaultMoment[], runs: readonly LiveRun[]): FaultFigures[] {
  const finals = runs.flatMap((run) =>
    run.received.flatMap(({ message, atMs }) =>
      message.type === "final" ? [{ atMs, afterMs: atMs - run.startedAtMs - message.end * 1_000 }] : [],
    ),
  );
  const spans = moments.map((moment, index) => {
    const untilMs = moments[index + 1]?.atMs ?? Number.POSITIVE_INFINITY;
    return { ...moment, finals: finals.filter(({ atMs }) => atMs >= moment.atMs && atMs < untilMs) };
  });
  return [...new Set(moments.map(({ fault }) => fault))].map((fault) => {
    const own = spans.filter((span) => span.fault === fault);
    const noticed = sorted(own.map(({ atMs, noticedAtMs }) => noticedAtMs - atMs));
    const after = sorted(own.flatMap((span) => span.finals.map(({ afterMs }) => afterMs)));
    return {
      fault,
      times: own.length,
      noticedAfterMs: { p50: share(noticed, 0.5), most: share(noticed, 1) },
      finals: after.length,
      finalAfterMs: { p50: share(after, 0.5), p95: share(after, 0.95), most: share(after, 1) },
    };
  });
}

function sorted(values: readonly number[]): number[] {
  return [...values].sort((a, b) => a - b);
}

function share(values: readonly number[], part: number): number {
  return Math.round(values[Math.ceil(part * values.length) - 1] ?? Number.NaN);
}
