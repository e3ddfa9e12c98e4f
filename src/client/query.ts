import type { RawFormat } from "./types.js";

/** A word or phrase that recognition prefers, optionally with how strongly. */
export type HotWord =
  | string
  | {
      readonly word: string;
      /** Bonus for each letter, 0 to 5; default 1. */
      readonly score?: number | undefined;
    };

/** Formats hot words for the query: `word` or `word:score`, separated by commas; undefined for none. */
export function formatHotWords(words: readonly HotWord[] = []): string | undefined {
  if (words.length === 0) return undefined;
  return words
    .map((word) => {
      if (typeof word === "string") return word;
      return word.score === undefined ? word.word : `${word.word}:${word.score}`;
    })
    .join(",");
}

/** Parameters of readable text; absent without them. */
export function readingQuery({
  display,
  numerals,
  redact = [],
}: {
  readonly display?: boolean | undefined;
  readonly numerals?: string | undefined;
  readonly redact?: readonly string[] | undefined;
}): Readonly<Record<string, string | undefined>> {
  return {
    display: display === true ? "true" : undefined,
    numerals,
    redact: redact.length === 0 ? undefined : redact.join(","),
  };
}

interface TranscriptWishes {
  readonly model?: string | undefined;
  readonly timestamps?: boolean | undefined;
  readonly hotWords?: readonly HotWord[] | undefined;
  readonly organizationDefaults?: boolean | undefined;
  readonly display?: boolean | undefined;
  readonly numerals?: string | undefined;
  readonly redact?: readonly string[] | undefined;
  readonly diarize?: boolean | undefined;
  readonly speakers?: number | undefined;
  readonly channels?: string | undefined;
  readonly raw?: RawFormat | undefined;
}

/** Parameters of `/v1/transcribe`, and of its jobs. */
export function transcribeQuery(
  wishes: TranscriptWishes,
): Readonly<Record<string, string | number | boolean | undefined>> {
  const { model, timestamps, diarize, speakers, hotWords, channels, raw } = wishes;
  return {
    ...{ model, timestamps: timestamps || undefined, hotwords: formatHotWords(hotWords) },
    organization_defaults: wishes.organizationDefaults,
    ...{ diarize: diarize || undefined, speakers },
    ...readingQuery(wishes),
    channels,
    ...(raw !== undefined && {
      ...{ encoding: raw.encoding, sample_rate: raw.sampleRateHz, channel_count: raw.channelCount },
    }),
  };
}

export function queryOf(
  values: Readonly<Record<string, string | number | boolean | undefined>>,
): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) query.set(name, String(value));
  }
  return query;
}

export function urlOf(base: URL, path: string, query?: URLSearchParams): URL {
  const url = new URL(path, base);
  url.search = String(query ?? "");
  return url;
}
