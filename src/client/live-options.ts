import type { DauysError } from "./errors.js";
import { type HotWord, writtenHotWords } from "./hot-words.js";

export interface LiveOptions {
  /** Id of a model that transcribes; the service's default when absent. */
  readonly model?: string | undefined;
  /** Milliseconds of silence that end an utterance, 100 to 2,000; 200 when absent. */
  readonly endOfUtteranceMs?: number | undefined;
  /** `adaptive` waits up to three times as long where the language model expects more; `fixed` when absent. */
  readonly endpointing?: "fixed" | "adaptive" | undefined;
  /** Whether partials come; true when absent. */
  readonly partials?: boolean | undefined;
  /** Whether finals carry the times of their words; false when absent. */
  readonly words?: boolean | undefined;
  /** Words and phrases to be preferred, at most 100, in letters of the model. */
  readonly hotWords?: readonly HotWord[] | undefined;
  /** Ends the session at once: its loop, `send` and `done` reject with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds during which a lost connection is tried again; 60,000 when absent, 0 for never. */
  readonly reconnectTimeoutMs?: number | undefined;
  /** Seconds of audio that may wait for a connection, beyond which the session fails; 60 when absent. */
  readonly bufferSeconds?: number | undefined;
  /** Milliseconds from `close` to `done`; 120,000 when absent. */
  readonly closeTimeoutMs?: number | undefined;
  readonly onStatus?: ((status: LiveStatus) => void) | undefined;
}

/** What happens to the connection, for a program that shows it. */
export type LiveStatus =
  | {
      readonly type: "ready";
      /** Under which the ledger keeps the charge of this connection. */
      readonly sessionId: string;
      readonly requestId: string;
      readonly model: string;
      readonly endOfUtteranceMs: number;
    }
  /** The connection is lost; the next try comes after `delayMs`. */
  | {
      readonly type: "reconnecting";
      readonly attempt: number;
      readonly delayMs: number;
      readonly cause: DauysError;
    }
  /** The service stops within so many seconds; the session goes on with the next one. */
  | { readonly type: "going_away"; readonly deadlineSeconds: number };

/** What a session was. */
export interface LiveDone {
  /** Seconds of audio that were sent into it. */
  readonly audioSeconds: number;
  /** Credits charged, as far as the service could still say: a connection that broke is settled without a word. */
  readonly creditsCharged: number;
  /** Every connection's id, under which the ledger keeps its charge. */
  readonly sessionIds: readonly string[];
  /** Connections of which the charge is not in `creditsCharged`. */
  readonly unsettledConnections: number;
}

/** The session's wishes as the service takes them. */
export function liveQuery(options: LiveOptions): URLSearchParams {
  const { model, endOfUtteranceMs, endpointing, partials, words, hotWords } = options;
  const query = new URLSearchParams();
  if (model !== undefined) query.set("model", model);
  if (endOfUtteranceMs !== undefined) query.set("eou_ms", String(endOfUtteranceMs));
  if (endpointing !== undefined) query.set("endpointing", endpointing);
  if (partials !== undefined) query.set("partials", String(partials));
  if (words !== undefined) query.set("words", String(words));
  if (hotWords !== undefined && hotWords.length > 0) query.set("hotwords", writtenHotWords(hotWords));
  return query;
}
