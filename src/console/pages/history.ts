import { useEffect, useState } from "preact/hooks";
import type { Transcribed } from "../../client/browser.js";
import type { Download } from "./downloads.js";

export type ResultKind = "speak" | "transcribe" | "listen";

/** Where a recording comes from: a file of the user's, or the address from which the service has fetched it. */
export type RecordingSource = File | { readonly url: string };

/** What a page of the playground has made. */
export interface Result {
  readonly kind: ResultKind;
  readonly organizationId: string;
  /** The model that answered; null where no answer said it. */
  readonly model: string | null;
  /** A voice, or a recording's name; null where the time says enough. */
  readonly title: string | null;
  readonly text: string;
  readonly seconds: number;
  /** Null while nobody could say it. */
  readonly credits: number | null;
  /** Null when there is none to play, or no room for it any more. */
  readonly sound: Blob | null;
  readonly downloads: readonly Download[];
  /** To be shown again as a whole. */
  readonly transcript?: { readonly transcribed: Transcribed; readonly source: RecordingSource };
}

export interface KeptResult extends Result {
  readonly id: number;
  readonly atMs: number;
}

const MOST_RESULTS = 20;
/** Sound that a page has made itself. A user's files stay on disk, and are not counted. */
const MOST_SOUND_BYTES = 100 * 2 ** 20;

/** In this page's memory only, newest first: nothing of it is stored, and a reload forgets it. */
let results: readonly KeptResult[] = [];
let lastId = 0;
const changed = new EventTarget();

export function keepResult(result: Result): void {
  update(bounded([{ ...result, id: ++lastId, atMs: Date.now() }, ...results]));
}

/** Forgets what one page has made for an organization; all there is, when none is named. */
export function forgetResults(kind?: ResultKind, organizationId?: string): void {
  update(
    results.filter(
      (one) => kind !== undefined && (one.kind !== kind || one.organizationId !== organizationId),
    ),
  );
}

/** What a page has made for an organization, newest first. */
export function useResults(kind: ResultKind, organizationId: string): readonly KeptResult[] {
  const [all, setAll] = useState(results);
  useEffect(() => {
    const show = () => setAll(results);
    changed.addEventListener("changed", show);
    return () => changed.removeEventListener("changed", show);
  }, []);
  return all.filter((one) => one.kind === kind && one.organizationId === organizationId);
}

function update(next: readonly KeptResult[]): void {
  results = next;
  changed.dispatchEvent(new Event("changed"));
}

/** Old results go, and before them the sound of old ones. */
function bounded(all: readonly KeptResult[]): readonly KeptResult[] {
  const counts = new Map<ResultKind, number>();
  let bytes = 0;
  return all.flatMap((one) => {
    const count = (counts.get(one.kind) ?? 0) + 1;
    counts.set(one.kind, count);
    if (count > MOST_RESULTS) return [];
    if (one.sound === null || one.sound instanceof File) return [one];
    bytes += one.sound.size;
    return [bytes <= MOST_SOUND_BYTES ? one : { ...one, sound: null, downloads: withoutSound(one) }];
  });
}

function withoutSound({ downloads }: KeptResult): readonly Download[] {
  return downloads.filter(({ type }) => !type.startsWith("audio/"));
}
