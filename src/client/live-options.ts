import type { DauysError } from "./errors.js";
import { formatHotWords, type HotWord, queryOf, readingQuery } from "./query.js";
import type { RedactedKind } from "./transcription-types.js";

export interface LiveOptions {
  /** ID of a recognition model; default: the service's default. */
  readonly model?: string | undefined;
  /** Milliseconds of silence that end an utterance, 100 to 2,000; default 200. */
  readonly endOfUtteranceMs?: number | undefined;
  /** `adaptive` waits up to three times as long if the sentence seems unfinished; default `fixed`. */
  readonly endpointing?: "fixed" | "adaptive" | undefined;
  /** Whether to send partials; default true. */
  readonly partials?: boolean | undefined;
  /** Whether finals include word times; default false. */
  readonly words?: boolean | undefined;
  /** Words and phrases to prefer, at most 100, spelled with the model's letters. */
  readonly hotWords?: readonly HotWord[] | undefined;
  /** Whether the organization's stored hot words apply too; default true. */
  readonly organizationDefaults?: boolean | undefined;
  /** Adds `display_text` with capitals, punctuation and digits to finals; default false. */
  readonly display?: boolean | undefined;
  /** Numbers in `display_text`; the default `auto` keeps small numbers as words. */
  readonly numerals?: "auto" | "all" | "none" | undefined;
  /** Masks personal data; partials then have no text. */
  readonly redact?: readonly RedactedKind[] | undefined;
  /**
   * Number of interleaved channels, 1 to 8. Each is transcribed and charged separately, and counts as a
   * session; results have a `channel`. Default: mono audio.
   */
  readonly channelCount?: number | undefined;
  /** Ends the session immediately: its loop, `send` and `done` reject with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** How long to retry a lost connection, in milliseconds; default 60,000, 0 for never. */
  readonly reconnectTimeoutMs?: number | undefined;
  /** Seconds of audio that may wait for a connection; default 60. More makes the session fail. */
  readonly bufferSeconds?: number | undefined;
  /** Milliseconds from `close` to `done`; default 120,000. */
  readonly closeTimeoutMs?: number | undefined;
  readonly onStatus?: ((status: LiveStatus) => void) | undefined;
}

/** State of the connection, for programs that display it. */
export type LiveStatus =
  | {
      readonly type: "ready";
      /** Identifies this connection's charge in the ledger. */
      readonly sessionId: string;
      readonly requestId: string;
      readonly model: string;
      readonly endOfUtteranceMs: number;
    }
  /** The connection was lost. The next attempt starts after `delayMs`. */
  | {
      readonly type: "reconnecting";
      readonly attempt: number;
      readonly delayMs: number;
      readonly cause: DauysError;
    }
  /** The service stops within this many seconds. The session continues on the next one. */
  | { readonly type: "going_away"; readonly deadlineSeconds: number };

/** Summary of a session. */
export interface LiveDone {
  /** Seconds of audio sent. */
  readonly audioSeconds: number;
  /** Credits that connections reported. A broken connection is charged without a report. */
  readonly creditsCharged: number;
  /** IDs of all connections, which identify their charges in the ledger. */
  readonly sessionIds: readonly string[];
  /** Number of connections whose charge is missing from `creditsCharged`. */
  readonly unsettledConnections: number;
  /**
   * Punctuation that ends the last `display_text`; empty if that text already ends with it, or without
   * `display`.
   */
  readonly displayEnd: string;
  /** `displayEnd` of each channel; only with `channelCount`. */
  readonly displayEnds?: readonly string[] | undefined;
}

/** Returns the options as query parameters of `/v1/stream`. */
export function liveQuery(options: LiveOptions): URLSearchParams {
  const { model, endOfUtteranceMs, endpointing, partials, words, hotWords, channelCount } = options;
  const { organizationDefaults: organization_defaults } = options;
  const hotwords = formatHotWords(hotWords);
  return queryOf({
    ...{ model, eou_ms: endOfUtteranceMs, endpointing, partials, words, hotwords, organization_defaults },
    ...readingQuery(options),
    ...(channelCount !== undefined && { channels: "split", channel_count: channelCount }),
  });
}
