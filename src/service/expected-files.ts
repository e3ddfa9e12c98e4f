import type { Clock } from "../../core/ports/clock.js";
import type { Conversations } from "../../core/ports/conversations.js";

/** Longest time for which jobs make way for a file that is being received: a slow upload must not stop them. */
const LONGEST_MS = 250;
/** After an upload that failed, none is expected for this time: it cost nothing, and many could stop jobs. */
const DISTRUST_MS = 1_000;

interface FileEngine {
  /** Makes jobs free a worker until the returned function is called. */
  expectFile(): () => void;
}

/** @param loadedEngines returns the engines whose models are loaded; others have no jobs in progress */
export function expectFiles(
  loadedEngines: () => readonly FileEngine[],
  clock: Clock,
): Conversations["expectFile"] {
  let distrustedUntilMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (clock.nowMs() < distrustedUntilMs) return () => {};
    const leaving = loadedEngines().map((engine) => engine.expectFile());
    const leave = () => {
      for (const each of leaving) each();
    };
    const timer = setTimeout(leave, LONGEST_MS);
    timer.unref();
    return (isTranscribed) => {
      clearTimeout(timer);
      leave();
      if (!isTranscribed) distrustedUntilMs = clock.nowMs() + DISTRUST_MS;
    };
  };
}
