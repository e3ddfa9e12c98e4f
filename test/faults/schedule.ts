import { uniform } from "../support/seed.js";

/** The kinds of faults, with the number of their targets and how often they are drawn. */
export const FAULTS = {
  "engine killed": { targets: 3, weight: 2 },
  "engine frozen": { targets: 3, weight: 2 },
  "gateway killed": { targets: 2, weight: 2 },
  "gateway frozen": { targets: 2, weight: 1 },
  "bus server killed": { targets: 3, weight: 1 },
  "bus server frozen": { targets: 3, weight: 1 },
  "network cut": { targets: 1, weight: 1 },
  "network lossy": { targets: 1, weight: 1 },
  "network slow": { targets: 1, weight: 1 },
  "database primary killed": { targets: 1, weight: 2 },
  "database primary frozen": { targets: 1, weight: 1 },
  "database standby killed": { targets: 1, weight: 1 },
  "disk full": { targets: 2, weight: 1 },
  "clock jumps ahead": { targets: 2, weight: 1 },
  "clock jumps back": { targets: 2, weight: 1 },
  "rolling upgrade": { targets: 1, weight: 1 },
} as const;

export type FaultKind = keyof typeof FAULTS;

export const FAULT_KINDS = Object.keys(FAULTS) as readonly FaultKind[];

/** The shortest and the longest fault. Engines count as lost after 1.6 s. */
const DURATION_MS = [300, 4_000] as const;
/** The shortest and the longest pause between the healing of one fault and the next fault. */
const PAUSE_MS = [300, 2_500] as const;

export interface ScheduledFault {
  /** Counts from 0. */
  readonly round: number;
  readonly kind: FaultKind;
  /** The process or link of this kind that is hit, counted from 0. */
  readonly target: number;
  /** The time after the previous fault was healed. */
  readonly afterMs: number;
  /** The time from the fault until its healing starts. */
  readonly durationMs: number;
}

/**
 * Draws faults in random order. Each kind occurs as often as its weight says before any kind returns.
 *
 * @param seed the same seed gives the same schedule, and a longer schedule begins like a shorter one
 */
export function scheduleOf(seed: number, rounds: number, kinds = FAULT_KINDS): readonly ScheduledFault[] {
  if (kinds.length === 0) throw new RangeError("a schedule needs at least one kind of fault");
  const next = uniform(seed);
  const between = ([from, to]: readonly [number, number]) => Math.round(from + next() * (to - from));
  const waiting: FaultKind[] = [];
  return Array.from({ length: rounds }, (_, round) => {
    if (waiting.length === 0)
      waiting.push(...kinds.flatMap((kind) => new Array<FaultKind>(FAULTS[kind].weight).fill(kind)));
    const [kind] = waiting.splice(Math.floor(next() * waiting.length), 1) as [FaultKind];
    return {
      round,
      kind,
      target: Math.floor(next() * FAULTS[kind].targets),
      afterMs: between(PAUSE_MS),
      durationMs: between(DURATION_MS),
    };
  });
}
