import { getPriority, setPriority } from "node:os";

/**
 * Niceness of each engine's threads above the main thread, which serves all requests. Linux gives a thread 10
 * % less CPU time per step, and lets a waking thread preempt nicer ones immediately.
 */
export const NICENESS = { live: 5, synthesis: 10, transcription: 15 } as const;

const HIGHEST = 19;

/**
 * Raises the calling thread's niceness, permanently: lowering it needs privileges. New threads inherit it.
 * Linux only: elsewhere niceness applies to the whole process.
 */
export function takeNiceness(steps: number): void {
  if (process.platform !== "linux" || steps === 0) return;
  // Process 0 means the calling thread.
  setPriority(0, Math.min(HIGHEST, getPriority(0) + steps));
}
