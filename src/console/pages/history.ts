import type { Transcribed } from "../../client/browser.js";
import type { Download } from "./downloads.js";
import { Store } from "./store.js";

export type ResultKind = "speak" | "transcribe" | "listen";

/** A recording: the user's file, or a URL that the service downloads. */
export type RecordingSource = File | { readonly url: string };

/** A result of a playground page. */
export interface Result {
  readonly kind: ResultKind;
  readonly organizationId: string;
  /** The model that was used; null if the response did not say. */
  readonly model: string | null;
  /** The voice, or the recording's name; null for live sessions. */
  readonly title: string | null;
  /** Returns the text in the selected form. */
  readonly text: () => string;
  readonly seconds: number;
  /** Null if the response did not say; the ledger shows the amount. */
  readonly credits: number | null;
  /** Null if there is no audio, or it was dropped to save memory. */
  readonly sound: Blob | null;
  readonly downloads: readonly Download[];
  /** Set if the page can show the whole transcript again. */
  readonly transcript?: { readonly transcribed: Transcribed; readonly source: RecordingSource };
}

export interface StoredResult extends Result {
  readonly id: number;
  readonly atMs: number;
}

const MOST_RESULTS = 20;
/** Limit for audio held in memory. The user's own files stay on disk and do not count. */
const MOST_SOUND_BYTES = 100 * 2 ** 20;

/** Newest first, and only in the page's memory: reloading the page drops them. */
const results = new Store<readonly StoredResult[]>([]);
let lastId = 0;

export function nameOf(source: RecordingSource): string {
  return source instanceof File ? source.name : source.url;
}

export function addResult(result: Result): void {
  results.set(bounded([{ ...result, id: ++lastId, atMs: Date.now() }, ...results.value]));
}

/** Drops an organization's results on one page; without arguments, drops all results. */
export function clearResults(kind?: ResultKind, organizationId?: string): void {
  results.set(
    results.value.filter(
      (one) => kind !== undefined && (one.kind !== kind || one.organizationId !== organizationId),
    ),
  );
}

/** The results of a page for an organization, newest first. */
export function useResults(kind: ResultKind, organizationId: string): readonly StoredResult[] {
  return results.use().filter((one) => one.kind === kind && one.organizationId === organizationId);
}

/** Drops the oldest results beyond the limit, and the oldest audio if it takes too much memory. */
function bounded(all: readonly StoredResult[]): readonly StoredResult[] {
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

function withoutSound({ downloads }: StoredResult): readonly Download[] {
  return downloads.filter(({ ending }) => ending !== "wav");
}
