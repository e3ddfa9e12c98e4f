import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ask, asProblem, type Problem } from "./api.js";

export type Loaded<T> =
  | { readonly state: "loading" }
  | { readonly state: "failed"; readonly problem: Problem }
  | { readonly state: "ready"; readonly value: T };

/** What stands at `path`, and how to ask for it again; while that goes on, what was there stays. */
export function useLoaded<T>(path: string): readonly [Loaded<T>, () => Promise<void>] {
  const [loaded, setLoaded] = useState<Loaded<T>>({ state: "loading" });
  const current = useRef(path);
  const load = useCallback(async () => {
    current.current = path;
    try {
      const value = await ask<T>("GET", path);
      if (current.current === path) setLoaded({ state: "ready", value });
    } catch (thrown) {
      const problem = asProblem(thrown);
      if (current.current === path && problem !== null) setLoaded({ state: "failed", problem });
    }
  }, [path]);
  useEffect(() => {
    void load();
  }, [load]);
  return [loaded, load];
}

/** Names the page in the browser's tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Dauys`;
  }, [title]);
}

/** Calls `act` every `everyMs` while the page can be seen. */
export function useWhileSeen(act: () => void, everyMs: number): void {
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") act();
    }, everyMs);
    return () => clearInterval(timer);
  }, [act, everyMs]);
}

/** Runs one piece of work at a time and remembers how it failed. */
export function useWork() {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const run = useCallback(async (work: () => Promise<void>) => {
    setBusy(true);
    setProblem(null);
    try {
      await work();
    } catch (thrown) {
      setProblem(asProblem(thrown));
    } finally {
      setBusy(false);
    }
  }, []);
  return { isBusy, problem, run, setProblem };
}

/** Whether something has been going on for so long that the reader wonders why. */
export function useIsSlow(isBusy: boolean, afterMs: number): boolean {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    setSlow(false);
    if (!isBusy) return;
    const timer = setTimeout(() => setSlow(true), afterMs);
    return () => clearTimeout(timer);
  }, [isBusy, afterMs]);
  return isSlow;
}

/** Whole seconds for which something has been going on; 0 while it is not. */
export function useSecondsOf(isBusy: boolean): number {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    setSeconds(0);
    if (!isBusy) return;
    const startedAtMs = performance.now();
    const timer = setInterval(() => setSeconds(Math.floor((performance.now() - startedAtMs) / 1_000)), 1_000);
    return () => clearInterval(timer);
  }, [isBusy]);
  return seconds;
}
