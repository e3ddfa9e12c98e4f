import { RATE_HZ } from "./clips.js";
import { withDetail } from "./refusal.js";

/** Protocols that the bench can use: ours, OpenAI's and Deepgram's. */
export const WIRES = ["dauys", "openai", "deepgram"] as const;

export type WireName = (typeof WIRES)[number];

const OPENAI_HZ = 24_000;

type Json = Readonly<Record<string, unknown>>;

/**
 * Meaning of a message from the service. `end` is in seconds of audio; null if the protocol does not report
 * it.
 */
export type LiveEvent =
  | { readonly type: "ready" }
  | { readonly type: "partial"; readonly end: number | null }
  | { readonly type: "final"; readonly text: string; readonly end: number | null }
  | { readonly type: "done"; readonly credits: number | null }
  | { readonly type: "failed"; readonly reason: string };

export interface LiveOptions {
  readonly model: string | null;
  readonly eouMs: number;
}

/** One protocol of live transcription. */
export interface LiveWire {
  readonly sampleRateHz: number;
  /** Path and query of the socket. */
  path(options: LiveOptions): string;
  authorization(key: string): string;
  /** Message to send when the socket opens; null for none. */
  opening(options: LiveOptions): string | null;
  /** Whether audio must wait for a `ready` event. */
  readonly hasReady: boolean;
  audio(pcm: Uint8Array): Uint8Array | string;
  /** Message to send after the audio; null to close the socket instead. */
  readonly closing: string | null;
  read(message: Json): LiveEvent | null;
}

export const LIVE_WIRES: Readonly<Record<WireName, LiveWire>> = {
  dauys: {
    sampleRateHz: RATE_HZ,
    path: ({ model, eouMs }) => `/v1/stream?eou_ms=${eouMs}${parameter("model", model)}`,
    authorization: (key) => `Bearer ${key}`,
    opening: () => null,
    hasReady: true,
    audio: (pcm) => pcm,
    closing: '{"type":"close"}',
    read: readDauys,
  },
  deepgram: {
    sampleRateHz: RATE_HZ,
    path: ({ model, eouMs }) =>
      `/v1/listen?encoding=linear16&sample_rate=${RATE_HZ}&channels=1&interim_results=true&endpointing=${eouMs}${parameter("model", model)}`,
    authorization: (key) => `Token ${key}`,
    opening: () => null,
    hasReady: false,
    audio: (pcm) => pcm,
    closing: '{"type":"CloseStream"}',
    read: readDeepgram,
  },
  openai: {
    sampleRateHz: OPENAI_HZ,
    path: () => "/v1/realtime?intent=transcription",
    authorization: (key) => `Bearer ${key}`,
    opening: openAiSession,
    hasReady: true,
    audio: (pcm) =>
      JSON.stringify({ type: "input_audio_buffer.append", audio: Buffer.from(pcm).toString("base64") }),
    closing: null,
    read: readOpenAi,
  },
};

function parameter(name: string, value: string | null): string {
  return value === null ? "" : `&${name}=${encodeURIComponent(value)}`;
}

function readDauys(message: Json): LiveEvent | null {
  switch (message["type"]) {
    case "ready":
      return { type: "ready" };
    case "partial":
      return { type: "partial", end: Number(message["end"]) };
    case "final":
      return { type: "final", text: String(message["text"]), end: Number(message["end"]) };
    case "done":
      return { type: "done", credits: Number(message["credits_charged"]) };
    case "error":
      return { type: "failed", reason: withDetail(String(message["code"]), message["detail"]) };
    default:
      return null;
  }
}

interface DeepgramResults {
  readonly is_final: boolean;
  readonly start: number;
  readonly duration: number;
  readonly channel: { readonly alternatives: readonly { readonly transcript: string }[] };
}

function readDeepgram(message: Json): LiveEvent | null {
  if (message["type"] === "Error") return { type: "failed", reason: String(message["description"]) };
  if (message["type"] === "Metadata") return { type: "done", credits: null };
  if (message["type"] !== "Results") return null;
  const { is_final, start, duration, channel } = message as unknown as DeepgramResults;
  const text = channel.alternatives[0]?.transcript ?? "";
  // The service also sends results for silence, without words.
  if (text === "") return null;
  // A final may include the silence after its last word, so its duration does not tell where speech ends.
  return is_final ? { type: "final", text, end: null } : { type: "partial", end: start + duration };
}

function openAiSession({ model, eouMs }: LiveOptions): string {
  return JSON.stringify({
    type: "session.update",
    session: {
      type: "transcription",
      audio: {
        input: {
          format: { type: "audio/pcm", rate: OPENAI_HZ },
          transcription: { model: model ?? "gpt-4o-transcribe" },
          turn_detection: { type: "server_vad", silence_duration_ms: eouMs },
        },
      },
    },
  });
}

function readOpenAi(message: Json): LiveEvent | null {
  const type = String(message["type"]);
  if (type === "session.updated") return { type: "ready" };
  if (type.endsWith("input_audio_transcription.delta")) return { type: "partial", end: null };
  if (type.endsWith("input_audio_transcription.completed")) {
    const text = String(message["transcript"]);
    return text === "" ? null : { type: "final", text, end: null };
  }
  if (type !== "error") return null;
  const { error } = message as { readonly error?: { readonly code?: unknown; readonly message?: unknown } };
  return { type: "failed", reason: withDetail(String(error?.code ?? "error"), error?.message) };
}
