import type { BilledOptions } from "./requester.js";
import type { RawFormat, RedactedKind } from "./transcription-types.js";
import type { UploadProgress } from "./transport.js";

/** A word or phrase that recognition prefers, optionally with a weight. */
export type HotWord =
  | string
  | {
      readonly word: string;
      /** Bonus per letter, 0 to 5; default 1. */
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

/** Returns the query parameters of readable text; none for options that are not set. */
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

/** Options of a transcription, in a request or as a job. */
export interface RecordingOptions extends BilledOptions {
  /** Id of a recognition model; default: the service's default. */
  readonly model?: string | undefined;
  /** Adds `words` and `segments`, for free. */
  readonly timestamps?: boolean | undefined;
  /** Tells speakers apart: adds `speaker` to `words` and `segments`, which it includes; default false. */
  readonly diarize?: boolean | undefined;
  /** The number of speakers, if it is known; only with `diarize`. */
  readonly speakers?: number | undefined;
  /** Words and phrases to prefer, at most 100, in letters of the model. */
  readonly hotWords?: readonly HotWord[] | undefined;
  /** Whether the organization's stored hot words apply too; default true. */
  readonly organizationDefaults?: boolean | undefined;
  /** Adds `display_text`: capitals, punctuation and figures; default false. */
  readonly display?: boolean | undefined;
  /** Numbers in `display_text`; the default `auto` keeps small numbers as words. */
  readonly numerals?: "auto" | "all" | "none" | undefined;
  /** Masks personal data in all texts. */
  readonly redact?: readonly RedactedKind[] | undefined;
  /**
   * `split` transcribes each channel separately, up to 8, and charges each: words and segments have a
   * `channel`. Default `mix`: all channels become one.
   */
  readonly channels?: "mix" | "split" | undefined;
  /** Format of samples without a header; default: the source is a file. */
  readonly raw?: RawFormat | undefined;
  /**
   * Its extension tells the container format, and lists of jobs show it; default: the name of the source, or
   * `audio.wav`.
   */
  readonly fileName?: string | undefined;
  /** Called during the upload. */
  readonly onUploadProgress?: ((progress: UploadProgress) => void) | undefined;
}

/** Returns the query parameters of `/v1/transcribe` and of jobs. */
export function transcribeQuery(
  options: RecordingOptions,
): Readonly<Record<string, string | number | boolean | undefined>> {
  const { model, timestamps, diarize, speakers, hotWords, channels, raw } = options;
  return {
    ...{ model, timestamps: timestamps || undefined, hotwords: formatHotWords(hotWords) },
    organization_defaults: options.organizationDefaults,
    ...{ diarize: diarize || undefined, speakers },
    ...readingQuery(options),
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
