import { groupBy } from "../../bench/evaluate/group-by.js";
import type { HistoryEvent } from "./history.js";

/** Counts what happened in a run, for its saved result. */
export function summaryOf(history: readonly HistoryEvent[]) {
  const count = (type: HistoryEvent["type"]) => history.filter((event) => event.type === type).length;
  const attempts = history.filter((event) => event.type === "attempt");
  return {
    rounds: history.filter((event) => event.type === "fault" && event.phase === "sound").length,
    minutes: (history.at(-1)?.atMs ?? 0) / 60_000,
    requests: count("request"),
    responses: count("response"),
    replays: history.filter((event) => event.type === "response" && event.isReplay).length,
    failedAttempts: attempts.length,
    sessions: count("live"),
    sessionsDone: count("live done"),
    sessionsFailed: count("live failed"),
    connections: count("live connection"),
    reconnections: count("live reconnecting"),
    finals: count("live final"),
    faults: faultsOf(history),
  };
}

/**
 * Counts for each kind of fault how often it occurred, how long the fleet took to be sound again, and how
 * many attempts and connections failed meanwhile.
 */
function faultsOf(history: readonly HistoryEvent[]) {
  const rounds = new Map<
    number,
    { kind: string; soundAfterMs: number; failedAttempts: number; reconnections: number }
  >();
  let current = -1;
  let appliedAtMs = 0;
  for (const event of history) {
    if (event.type === "fault") {
      if (event.phase === "applied") {
        current = event.round;
        appliedAtMs = event.atMs;
        rounds.set(current, { kind: event.kind, soundAfterMs: 0, failedAttempts: 0, reconnections: 0 });
      }
      const round = rounds.get(event.round);
      if (event.phase === "sound" && round !== undefined) round.soundAfterMs = event.atMs - appliedAtMs;
    }
    const round = rounds.get(current);
    if (event.type === "attempt" && round !== undefined) round.failedAttempts++;
    if (event.type === "live reconnecting" && round !== undefined) round.reconnections++;
  }
  return [...groupBy(rounds.values(), ({ kind }) => kind)].map(([fault, own]) => {
    const sum = (of: (round: (typeof own)[number]) => number) =>
      own.reduce((total, round) => total + of(round), 0);
    return {
      fault,
      times: own.length,
      longestMs: Math.max(...own.map(({ soundAfterMs }) => soundAfterMs)),
      failedAttempts: sum(({ failedAttempts }) => failedAttempts),
      reconnections: sum(({ reconnections }) => reconnections),
    };
  });
}
