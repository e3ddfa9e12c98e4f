import type { TimedWord } from "../domain/decoding/words.js";

/** What a live client may ask for in the query of `/v1/stream`. */
export interface StreamOptions {
  readonly endOfUtteranceMs: number;
  readonly partials: boolean;
  readonly words: boolean;
}

/** Text messages from the client; unknown types are ignored. */
export type StreamClientMessage =
  | { readonly type: "finalize" }
  | { readonly type: "close" }
  | { readonly type: "keepalive" }
  | { readonly type: "ignored" };

/** Messages to the client, exactly as they go on the wire. Times are seconds of accepted audio. */
export type StreamServerMessage =
  | {
      readonly type: "ready";
      readonly session_id: string;
      readonly request_id: string;
      readonly model: string;
      readonly sample_rate: number;
      readonly eou_ms: number;
    }
  | {
      readonly type: "partial";
      readonly utterance: number;
      readonly text: string;
      readonly start: number;
      readonly end: number;
    }
  | {
      readonly type: "final";
      readonly utterance: number;
      readonly text: string;
      readonly start: number;
      readonly end: number;
      readonly words?: readonly TimedWord[];
    }
  | { readonly type: "going_away"; readonly deadline_s: number }
  | { readonly type: "error"; readonly code: string; readonly detail: string; readonly retryable: boolean }
  | { readonly type: "done"; readonly audio_seconds: number; readonly credits_charged: number };

const ACTIONS = { finalize: true, close: true, keepalive: true } as const;

/** Reads a text message of the client; null when it is not JSON. */
export function parseStreamClientMessage(text: string): StreamClientMessage | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The caller answers with `bad_message`.
    return null;
  }
  const type = typeof value === "object" && value !== null && "type" in value ? value.type : null;
  const isKnown = typeof type === "string" && Object.hasOwn(ACTIONS, type);
  return isKnown ? { type: type as keyof typeof ACTIONS } : { type: "ignored" };
}
