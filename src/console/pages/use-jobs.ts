import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Job } from "../../client/browser.js";
import { creditsChanged, type Problem, toProblem } from "./api.js";
import { usePolling } from "./hooks.js";
import { dropRejectedKey, playgroundClient } from "./playground-client.js";

const POLL_MS = 3_000;
const PAGE_JOBS = 100;
/** More uploads at a time would only share the same bandwidth. */
const UPLOADS_AT_ONCE = 2;
/** Enough for two hours of audio over a slow connection. */
const TIMEOUT_MS = 60 * 60_000;

/** A recording that the user chose. */
export interface JobUpload {
  readonly file: File;
  /** Share that was sent, 0 to 1. */
  readonly share: number;
  /** Finished uploads stay until the last one, as part of the progress. */
  readonly isDone: boolean;
  readonly problem: Problem | null;
}

interface Options {
  readonly model?: string;
  readonly hotWords: readonly string[];
  readonly diarize?: boolean;
}

/** Uploads recordings of an organization as jobs, and follows all its jobs. */
export function useJobs(organizationId: string) {
  const [jobs, setJobs] = useState<readonly Job[] | null>(null);
  const [hasMore, setMore] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const pages = useRef(1);
  const load = useCallback(async () => {
    try {
      const client = await playgroundClient(organizationId);
      const found: Job[] = [];
      let after: string | undefined;
      for (let page = 0; page < pages.current; page++) {
        const { data, next } = await client.jobs.list({ limit: PAGE_JOBS, after });
        found.push(...data);
        after = next ?? undefined;
        if (after === undefined) break;
      }
      setMore(after !== undefined);
      setProblem(null);
      setJobs((known) => {
        if (known?.some(isActive) === true && !found.some(isActive))
          creditsChanged.dispatchEvent(new Event("changed"));
        return found;
      });
    } catch (thrown) {
      dropRejectedKey(thrown);
      setProblem(toProblem(thrown));
    }
  }, [organizationId]);
  useEffect(() => void load(), [load]);
  const isBusy = jobs?.some(isActive) === true;
  const poll = useCallback(() => {
    if (isBusy) void load();
  }, [isBusy, load]);
  usePolling(poll, POLL_MS);
  const { uploads, add } = useUploads(organizationId, load);
  const end = async (job: Job) => {
    try {
      await (await playgroundClient(organizationId)).jobs.end(job.id);
    } catch (thrown) {
      setProblem(toProblem(thrown));
    }
    await load();
  };
  const more = () => {
    pages.current++;
    void load();
  };
  return { jobs, hasMore, more, problem, reload: load, uploads, add, end };
}

export function isActive({ status }: Job): boolean {
  return status === "queued" || status === "running";
}

export function isWaiting({ isDone, problem }: JobUpload): boolean {
  return !isDone && problem === null;
}

function useUploads(organizationId: string, onUploaded: () => Promise<void>) {
  const [uploads, setUploads] = useState<readonly JobUpload[]>([]);
  const waiting = useRef<{ readonly file: File; readonly options: Options }[]>([]);
  const running = useRef(0);
  const control = useRef(new AbortController());
  useEffect(() => {
    const { current } = control;
    return () => current.abort();
  }, []);
  const change = (file: File, changes: Partial<JobUpload>) =>
    setUploads((all) => {
      const changed = all.map((one) => (one.file === file ? { ...one, ...changes } : one));
      return changed.some(isWaiting) ? changed : changed.filter(({ problem }) => problem !== null);
    });
  const send = async (file: File, options: Options) => {
    try {
      const client = await playgroundClient(organizationId);
      await client.jobs.submit(file, {
        ...options,
        // Request both text forms, because the page offers both.
        ...{ timestamps: true, display: true },
        ...{ fileName: file.name, timeoutMs: TIMEOUT_MS, signal: control.current.signal },
        onUploadProgress: ({ sentBytes }) =>
          change(file, { share: Math.min(1, sentBytes / Math.max(1, file.size)) }),
      });
      change(file, { share: 1, isDone: true });
      await onUploaded();
    } catch (thrown) {
      dropRejectedKey(thrown);
      if (!control.current.signal.aborted) change(file, { problem: toProblem(thrown) });
    }
  };
  const pump = async (): Promise<void> => {
    if (running.current >= UPLOADS_AT_ONCE) return;
    const next = waiting.current.shift();
    if (next === undefined) return;
    running.current++;
    await send(next.file, next.options);
    running.current--;
    await pump();
  };
  const add = (files: readonly File[], options: Options) => {
    setUploads((all) => [...all, ...files.map((file) => ({ file, share: 0, isDone: false, problem: null }))]);
    waiting.current.push(...files.map((file) => ({ file, options })));
    for (let nth = 0; nth < UPLOADS_AT_ONCE; nth++) void pump();
  };
  return { uploads, add };
}
