import { useCallback, useEffect, useState } from "preact/hooks";
import type { Vocabulary, VocabularyWords } from "../../client/browser.js";
import { callApi, toProblem } from "./api.js";
import { type Loaded, useTask } from "./hooks.js";
import { dropRejectedKey, playgroundClient } from "./playground-client.js";
import { vocabularyDrafts } from "./vocabulary-drafts.js";
import {
  faultIn,
  type ListFault,
  type ReadLists,
  readLists,
  rejectedFault,
  type VocabularyLimits,
  type WrittenLists,
  writeLists,
} from "./vocabulary-lines.js";

export interface KnownVocabulary {
  readonly words: VocabularyWords;
  readonly limits: VocabularyLimits;
}

/** Loads an organization's stored words and their limits. Also returns a function that loads them again. */
export function useVocabulary(
  organizationId: string,
): readonly [Loaded<KnownVocabulary>, () => Promise<void>] {
  const [loaded, setLoaded] = useState<Loaded<KnownVocabulary>>({ state: "loading" });
  const load = useCallback(async () => {
    try {
      const [words, { vocabulary: limits }] = await Promise.all([
        ask(organizationId, (vocabulary) => vocabulary.get()),
        callApi<{ readonly vocabulary: VocabularyLimits }>("GET", `/organizations/${organizationId}/limits`),
      ]);
      setLoaded({ state: "ready", value: { words, limits } });
    } catch (thrown) {
      const problem = toProblem(thrown);
      if (problem !== null) setLoaded({ state: "failed", problem });
    }
  }, [organizationId]);
  useEffect(() => void load(), [load]);
  return [loaded, load];
}

/** Holds the lists as the user edits them, and saves them. */
export function useVocabularyLists(organizationId: string, { words, limits }: KnownVocabulary) {
  const [stored, setStored] = useState(() => writeLists(words));
  const [written, setWritten] = useState(() => vocabularyDrafts.get(organizationId) ?? stored);
  const [fault, setFault] = useState<ListFault | null>(null);
  const [isSaved, setSaved] = useState(false);
  const [isOvertaken, setOvertaken] = useState(false);
  const { isBusy, problem, run } = useTask();
  const isChanged = !isSame(written, stored);
  useDraft(organizationId, isChanged ? written : null);
  const read = readLists(written);
  const change = (field: keyof WrittenLists, text: string) => {
    setWritten((before) => ({ ...before, [field]: text }));
    if (fault?.field === field) setFault(null);
  };
  const show = (lists: WrittenLists) => {
    setStored(lists);
    setWritten(lists);
    setFault(null);
    setOvertaken(false);
  };
  const send = async () => {
    const now = writeLists(await ask(organizationId, (vocabulary) => vocabulary.get()));
    setStored(now);
    setOvertaken(!isSame(now, stored));
    // The user decides which version to keep.
    if (!isSame(now, stored) && !isSame(now, written)) return;
    show(writeLists(await ask(organizationId, (vocabulary) => vocabulary.set(read.words))));
    setSaved(true);
  };
  const save = (onFault: (fault: ListFault) => void) => {
    setSaved(false);
    const failed = (found: ListFault | null) => {
      setFault(found);
      if (found !== null) onFault(found);
      return found !== null;
    };
    if (failed(faultIn(read, limits))) return;
    void run(async () => {
      await send().catch((thrown: unknown) => {
        if (!failed(faultOf(thrown, read))) throw thrown;
      });
    });
  };
  const discard = () => show(stored);
  return { written, read, change, save, discard, fault, isChanged, isSaved, isOvertaken, isBusy, problem };
}

/** Keeps unsaved lists while the user visits other pages, and warns before the page closes. */
function useDraft(organizationId: string, draft: WrittenLists | null): void {
  const isUnsaved = draft !== null;
  useEffect(() => {
    if (draft === null) vocabularyDrafts.delete(organizationId);
    else vocabularyDrafts.set(organizationId, draft);
  }, [organizationId, draft]);
  useEffect(() => {
    if (!isUnsaved) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [isUnsaved]);
}

function isSame(a: WrittenLists, b: WrittenLists): boolean {
  return a.hotwords === b.hotwords && a.pronunciations === b.pronunciations;
}

function faultOf(thrown: unknown, read: ReadLists): ListFault | null {
  const detail = toProblem(thrown)?.detail ?? null;
  return detail === null ? null : rejectedFault(detail, read);
}

/** Calls the public API with a playground key, and with a new one if the service rejects it. */
async function ask<T>(organizationId: string, act: (vocabulary: Vocabulary) => Promise<T>): Promise<T> {
  const attempt = async () => act((await playgroundClient(organizationId)).vocabulary);
  return attempt().catch((thrown: unknown) => {
    if (!dropRejectedKey(thrown)) throw thrown;
    return attempt();
  });
}
