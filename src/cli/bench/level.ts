import type { Budget } from "./budget.js";
import type { Clip } from "./clips.js";
import type { WireName } from "./live-wires.js";
import type { LevelResult } from "./result.js";

/** Parameters that all levels of a run share. */
export interface LevelPlan {
  readonly url: string;
  readonly key: string;
  readonly wire: WireName;
  readonly clips: readonly Clip[];
  readonly model: string | null;
  readonly voice: string | null;
  readonly eouMs: number;
  /** Sends requests at even intervals instead of as a Poisson process. */
  readonly isEven: boolean;
}

export interface LevelContext extends LevelPlan {
  readonly budget: Budget;
  readonly signal: AbortSignal;
  readonly progress: Progress;
}

/** Numbers for a status line, updated by the level that is running. */
export interface Progress {
  load: number;
  endsAtMs: number;
  active: number;
  failed: number;
  /** Latest value of the level's main metric. */
  last: number | null;
}

/** Applies a load for some seconds and measures it. */
export type RunLevel = (context: LevelContext, load: number, seconds: number) => Promise<LevelResult>;

/** CPU time of this process since `before`, in percent of one core. */
export function cpuPercent(before: NodeJS.CpuUsage, wallMs: number): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 10 / Math.max(1, wallMs);
}

/** Waits, or returns early when the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((settle) => {
    if (signal.aborted || ms <= 0) return settle();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      settle();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}
