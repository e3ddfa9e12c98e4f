import { getPriority, setPriority } from "node:os";

/**
 * How much less claim to a core each engine's threads have than the main thread, through which everything goes. Linux gives a
 * thread a tenth less time for each step, and lets one that wakes up run at once before those that have less claim.
 */
export const NICENESS = { live: 5, synthesis: 10, transcription: 15 } as const;

const HIGHEST = 19;

/**
 * Gives the thread that calls it so much less claim to a core, for good: without privileges none gets claim back. Threads that it
 * starts from now on inherit it. Elsewhere than on Linux niceness is a whole process's, and nothing happens.
 */
export function takeNiceness(steps: number): void {
  if (process.platform !== "linux" || steps === 0) return;
  // Process 0 is the calling thread.
  setPriority(0, Math.min(HIGHEST, getPriority(0) + steps));
}
