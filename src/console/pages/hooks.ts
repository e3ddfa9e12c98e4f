import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { callApi, type Problem, toProblem } from "./api.js";

export type Loaded<T> =
  | { readonly state: "loading" }
  | { readonly state: "failed"; readonly problem: Problem }
  | { readonly state: "ready"; readonly value: T };

/** Loads `path`. Also returns a function that loads it again, while the old value stays visible. */
export function useLoaded<T>(path: string): readonly [Loaded<T>, () => Promise<void>] {
  const [loaded, setLoaded] = useState<Loaded<T>>({ state: "loading" });
  const current = useRef(path);
  const load = useCallback(async () => {
    current.current = path;
    try {
      const value = await callApi<T>("GET", path);
      if (current.current === path) setLoaded({ state: "ready", value });
    } catch (thrown) {
      const problem = toProblem(thrown);
      if (current.current === path && problem !== null) setLoaded({ state: "failed", problem });
    }
  }, [path]);
  useEffect(() => {
    void load();
  }, [load]);
  return [loaded, load];
}

/**
 * Loads the data for the secret after `#` in this page's address, and removes the secret from the address.
 */
export function useLinkSecret<T>(lookUpPath: string) {
  const [token] = useState(() => location.hash.slice(1));
  const [found, setFound] = useState<T | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    history.replaceState(null, "", location.pathname);
    callApi<T>("POST", lookUpPath, { token }).then(setFound, (thrown) => setProblem(toProblem(thrown)));
  }, [token]);
  return { token, found, problem };
}

/** Shows the page's title in the browser tab. */
export function useTitle(title: string): void {
  // With `useEffect`, the title would change a frame after the heading.
  useLayoutEffect(() => {
    document.title = `${title} · Dauys`;
  }, [title]);
}

/** Calls `act` every `everyMs` while the page is visible. */
export function usePolling(act: () => void, everyMs: number): void {
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") act();
    }, everyMs);
    return () => clearInterval(timer);
  }, [act, everyMs]);
}

/** Runs an asynchronous action, and tracks whether it is running and how it failed. */
export function useTask() {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const run = useCallback(async (work: () => Promise<void>) => {
    setBusy(true);
    setProblem(null);
    try {
      await work();
    } catch (thrown) {
      setProblem(toProblem(thrown));
    } finally {
      setBusy(false);
    }
  }, []);
  return { isBusy, problem, run };
}

/** Returns whether `isBusy` has been true for longer than `afterMs`. */
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

/** Counts the whole seconds since `isBusy` became true; 0 while it is false. */
export function useElapsedSeconds(isBusy: boolean): number {
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
