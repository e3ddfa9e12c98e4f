import { ACCOUNT_ENDPOINTS } from "./account-endpoints.js";
import { NO_QUERY, VOICES_QUERY } from "./catalog-schemas.js";
import type { ComponentName } from "./components.js";
import { DEEPGRAM_ENDPOINTS } from "./deepgram-endpoints.js";
import { JOB_ENDPOINTS } from "./job-endpoints.js";
import type { Query } from "./query.js";
import { REALTIME_QUERY } from "./realtime-query.js";
import { STREAM_QUERY } from "./stream-query.js";
import { SPEECH_QUERY, SPEECH_STREAM_QUERY } from "./timed-speech.js";
import { TRANSCRIBE_QUERY } from "./transcribe-query.js";
import { TTS_LIVE_QUERY } from "./tts-live-query.js";

/** Headers of some responses, in addition to those of every response. */
export const ANSWER_HEADERS = {
  "X-Svc-Chars": { type: "integer", description: "Billed characters: code points of the submitted text" },
  "X-Svc-Stream": { type: "string", description: "Always `wav-frames-v1`" },
  "X-Svc-Audio-Seconds": { type: "number", description: "Billed duration" },
  "X-Svc-Credits": { type: "integer", description: "Credits charged" },
  "X-Svc-Model": { type: "string", description: "Model used" },
  "X-Svc-Cold-Start-Ms": {
    type: "integer",
    description: "Milliseconds that the request waited for its model, if over 1 s",
  },
  "X-Svc-Notes": {
    type: "string",
    description:
      "Notes on the text, if there are any: stable names, separated by commas. `russian_text`: a sentence " +
      "is Russian, and the voice speaks it with Kazakh sounds; `dropped_characters`: emoji, characters of " +
      "other scripts or similar have no reading and are dropped",
  },
  "X-Svc-Ignored": {
    type: "string",
    description: "Parameters or fields that were sent but have no effect, separated by commas",
  },
  "Dg-Char-Count": { type: "integer", description: "As `X-Svc-Chars`" },
  "Dg-Model-Name": { type: "string", description: "The voice" },
  "Dg-Model-Uuid": { type: "string", description: "As `X-Svc-Model`" },
  "Dg-Request-Id": { type: "string", description: "As `x-request-id`" },
  "X-Sample-Rate": { type: "integer", description: "Only with `pcm`: 24000" },
  "X-Channels": { type: "integer", description: "Only with `pcm`: 1" },
  "X-Bit-Depth": { type: "integer", description: "Only with `pcm`: 16" },
} as const;

type AnswerHeader = keyof typeof ANSWER_HEADERS;

/** Idempotency of billed endpoints: the request header, its effect on the response, and its errors. */
export const IDEMPOTENCY = {
  header: "Idempotency-Key",
  rule: { minLength: 1, maxLength: 255, pattern: "^[ -~]+$" },
  description:
    "Makes retries safe: within 24 hours, the same request with the same key is charged once and gets the " +
    "same response. 409 means that a request with this key is still running, 422 that the key belongs to " +
    "another request. After an error, the key accepts the same request again. Keys belong to your " +
    "organization; use a random UUID.",
  answerHeaders: {
    "Idempotent-Replayed": {
      type: "string",
      description: "`true` if this request was not charged, because an earlier one paid for its response",
    },
    "Original-Request": {
      type: "string",
      description: "`x-request-id` of the request that was charged for this response, if it was another one",
    },
  },
  errors: [409, 422],
} as const;

/** Content of a body by media type: a component, one of several, plain text, or bytes. */
export type Content = Readonly<Record<string, ComponentName | readonly ComponentName[] | "text" | "bytes">>;

/** Header that identifies OpenAI clients. */
export const OPENAI_CLIENT_HEADER = "x-stainless-lang";

/** Returns whether OpenAI clients expect their error body on a path: their endpoints and the catalog. */
export function isOpenAiPath(path: string): boolean {
  return /^\/v1\/(audio|models|voices|realtime)(\/|$)/.test(path);
}

/** Groups of endpoints in the API reference, in order. */
export const GROUPS = ["Speech", "Transcription", "Jobs", "Live", "Account", "Catalog"] as const;

/** An endpoint of the API reference. */
export interface Endpoint {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** `{name}` stands for a segment. */
  readonly path: string;
  readonly group: (typeof GROUPS)[number];
  readonly summary: string;
  readonly description?: string;
  /** Needs no key. */
  readonly isOpen?: boolean;
  /** Costs credits, and accepts an `Idempotency-Key`. */
  readonly isBilled?: boolean;
  readonly query?: Query;
  readonly requestHeaders?: Readonly<Record<string, string>>;
  readonly request?: Content | "form";
  readonly status: 200 | 202 | 101;
  readonly answer: Content;
  readonly answerHeaders?: readonly AnswerHeader[];
  readonly errors: readonly number[];
}

const AUDIO_HEADERS = ["X-Svc-Audio-Seconds", "X-Svc-Credits", "X-Svc-Model", "X-Svc-Cold-Start-Ms"] as const;

const TABLE = [
  {
    method: "POST",
    path: "/v1/tts",
    group: "Speech",
    summary: "Speak a text",
    description:
      "Returns one WAV: 24 kHz, 16-bit PCM, mono. With `timestamps=true` it returns `TimedSpeech`: the " +
      "same WAV in base64, and each word with its position in the text. Models without word times reject " +
      "this (400).",
    query: SPEECH_QUERY,
    request: { "application/json": "SynthesisRequest" },
    status: 200,
    answer: { "audio/wav": "bytes", "application/json": "TimedSpeech" },
    answerHeaders: ["X-Svc-Chars", "X-Svc-Credits", "X-Svc-Model", "X-Svc-Cold-Start-Ms", "X-Svc-Notes"],
    isBilled: true,
    errors: [400, 401, 404, 408, 413, 429, 503],
  },
  {
    method: "POST",
    path: "/v1/tts/stream",
    group: "Speech",
    summary: "Speak a text sentence by sentence",
    description:
      "Returns a sequence of frames: 4 bytes with the big-endian length N, then N bytes that are one " +
      "playable WAV. A frame is sent when a sentence is finished; with `frames=chunks`, when a part of it " +
      "is. A failure in the middle closes the connection. With `timestamps=true` each WAV has a RIFF chunk " +
      '`wrds` after its samples, JSON in UTF-8: `{"words": [WordTime, ...]}` with the words that begin in ' +
      "this frame, times from the start of its WAV. Players that do not know the chunk skip it.",
    query: SPEECH_STREAM_QUERY,
    request: { "application/json": "SynthesisRequest" },
    status: 200,
    answer: { "application/octet-stream": "bytes" },
    answerHeaders: [
      "X-Svc-Chars",
      "X-Svc-Credits",
      "X-Svc-Model",
      "X-Svc-Stream",
      "X-Svc-Cold-Start-Ms",
      "X-Svc-Notes",
    ],
    isBilled: true,
    errors: [400, 401, 404, 408, 413, 429, 503],
  },
  {
    method: "GET",
    path: "/v1/tts/live",
    group: "Speech",
    summary: "Speak text that arrives in pieces, over WebSocket",
    description:
      "`text` adds text in pieces of any size (`TtsLiveClientMessage`), and each sentence is spoken as " +
      "soon as it is complete; `flush` speaks the rest, `cancel` drops unsent audio, `close` speaks the " +
      "rest and closes. An `audio` message precedes every binary message: it has the sentence, the turn, " +
      "and the words with their times (`TtsLiveServerMessage`). A turn is charged once, up to the end of " +
      "the last sentence of which any audio was sent. Keys, rejections and close codes are those of " +
      "`/v1/stream`; 4408 after ten minutes without a message.",
    query: TTS_LIVE_QUERY,
    status: 101,
    answer: {},
    errors: [400, 401, 404, 429, 503],
  },
  {
    method: "POST",
    path: "/v1/audio/speech",
    group: "Speech",
    summary: "Speak a text, in OpenAI's shape",
    description:
      "`pcm` is streamed as it is synthesized. So are the server-sent events of `stream_format: sse`: " +
      "`SpeechDelta` with audio in base64, then `SpeechDone`, or an event `error`.",
    request: { "application/json": "SpeechRequest" },
    status: 200,
    answer: {
      "audio/wav": "bytes",
      "audio/pcm": "bytes",
      "text/event-stream": ["SpeechDelta", "SpeechDone"],
    },
    answerHeaders: [
      "X-Svc-Chars",
      "X-Svc-Credits",
      "X-Svc-Model",
      "X-Sample-Rate",
      "X-Channels",
      "X-Bit-Depth",
      "X-Svc-Cold-Start-Ms",
      "X-Svc-Notes",
      "X-Svc-Ignored",
    ],
    isBilled: true,
    errors: [400, 401, 408, 413, 429, 503],
  },
  {
    method: "POST",
    path: "/v1/transcribe",
    group: "Transcription",
    summary: "Transcribe a file",
    description:
      "Send the audio as a raw body, as the part `file` of a form, or by `url`; exactly one of these. With " +
      "`Accept: text/event-stream` the response consists of server-sent events: `progress` " +
      "(`TranscriptionProgress`) during the transcription, then `result` with the JSON response, or " +
      "`error` (`ErrorEvent`). Errors before the first event have their own HTTP status. Comments keep the " +
      "connection open.",
    query: TRANSCRIBE_QUERY,
    requestHeaders: {
      "x-filename": "File name of a raw body; only its extension matters, which gives the container",
    },
    request: { "application/octet-stream": "bytes", "multipart/form-data": "bytes" },
    status: 200,
    answer: {
      "application/json": "Transcription",
      "text/event-stream": ["TranscriptionProgress", "Transcription", "ErrorEvent"],
    },
    answerHeaders: AUDIO_HEADERS,
    isBilled: true,
    errors: [400, 401, 404, 408, 413, 429, 503],
  },
  {
    method: "POST",
    path: "/v1/audio/transcriptions",
    group: "Transcription",
    summary: "Transcribe a file, in OpenAI's shape",
    description:
      "`json` returns `PlainTranscript`, `verbose_json` returns `VerboseTranscript`. With `stream` the " +
      "response consists of server-sent events: `TranscriptDelta` as the text is transcribed, then " +
      "`TranscriptDone`, or an event `error`.",
    request: "form",
    status: 200,
    answer: {
      "application/json": ["PlainTranscript", "VerboseTranscript"],
      "text/plain": "text",
      "application/x-subrip": "text",
      "text/vtt": "text",
      "text/event-stream": ["TranscriptDelta", "TranscriptDone"],
    },
    answerHeaders: [...AUDIO_HEADERS, "X-Svc-Ignored"],
    isBilled: true,
    errors: [400, 401, 408, 413, 429, 503],
  },
  {
    method: "GET",
    path: "/v1/stream",
    group: "Live",
    summary: "Live transcription over WebSocket",
    description:
      "Send binary messages of 16-bit little-endian PCM (mono, 16 kHz), or WebM or Ogg with Opus, in " +
      "pieces of any size, and text messages (`StreamClientMessage`); receive `StreamServerMessage`. Send " +
      "the key as `Authorization: Bearer`, as the second of the subprotocols `svc-bearer, KEY`, or send a " +
      "token in the query. Requests with the header are rejected with an HTTP response; for others the " +
      "socket opens, sends `error`, and closes with 4000 + the HTTP status. Other close codes: 1000 done, " +
      "1011 internal, 1012 going away, 1013 no capacity, 4408 idle for 60 s, 4413 over 4 hours. While the " +
      "model loads, the socket is already open: send audio immediately; `ready` arrives once the model is " +
      "loaded.",
    query: STREAM_QUERY,
    status: 101,
    answer: {},
    errors: [400, 401, 404, 429, 503],
  },
  ...JOB_ENDPOINTS,
  ...DEEPGRAM_ENDPOINTS,
  {
    method: "GET",
    path: "/v1/realtime",
    group: "Live",
    summary: "Live transcription over WebSocket, for OpenAI clients",
    description:
      "The same sessions with the events of OpenAI's realtime transcription (`RealtimeServerEvent`, " +
      "`RealtimeClientEvent`), in the beta's form for clients that send `OpenAI-Beta: realtime=v1`. Send " +
      "the key as `Authorization: Bearer`, or as one of the subprotocols `realtime, " +
      "openai-insecure-api-key.KEY`; client secrets work in the same places. Audio is base64 in " +
      "`input_audio_buffer.append`: 16-bit little-endian PCM at 24 kHz, or G.711 at 8 kHz. Sessions only " +
      "transcribe: other events get an `error`. Close codes are those of `/v1/stream`.",
    query: REALTIME_QUERY,
    status: 101,
    answer: {},
    errors: [400, 401, 404, 429, 503],
  },
  {
    method: "POST",
    path: "/v1/realtime/client_secrets",
    group: "Live",
    summary: "Create a secret that opens realtime sessions, in OpenAI's shape",
    description:
      "For web pages, which must not have the key. Valid for 10 minutes, or as long as `expires_after` sets.",
    query: NO_QUERY,
    request: { "application/json": "ClientSecretRequest" },
    status: 200,
    answer: { "application/json": "ClientSecret" },
    errors: [400, 401, 408, 413, 503],
  },
  {
    method: "POST",
    path: "/v1/realtime/transcription_sessions",
    group: "Live",
    summary: "Create such a secret, in the shape of OpenAI's beta",
    query: NO_QUERY,
    request: { "application/json": "TranscriptionSessionRequest" },
    status: 200,
    answer: { "application/json": "TranscriptionSession" },
    errors: [400, 401, 408, 413, 503],
  },
  {
    method: "POST",
    path: "/v1/stream/token",
    group: "Live",
    summary: "Create a token that opens one live socket within 60 s",
    query: NO_QUERY,
    status: 200,
    answer: { "application/json": "StreamToken" },
    errors: [400, 401, 503],
  },
  ...ACCOUNT_ENDPOINTS,
  open("/v1/models", "Installed models: those for speech, and those for transcription", "Models"),
  {
    ...open("/v1/voices", "Voices of a model", "Voices"),
    query: VOICES_QUERY,
    errors: [400, 404],
  },
  open("/v1/audio/models", "Models, in the form that chat front ends request", "AudioModels"),
  open("/v1/audio/voices", "Voices, in the form that chat front ends request", "AudioVoices"),
  open("/health", "Whether the service is up", "Health"),
  {
    ...open("/ready", "Whether the service accepts work; models are loaded on demand", "Readiness"),
    errors: [503],
  },
] as const satisfies readonly Endpoint[];

/** All endpoints of the public interface. */
export const ENDPOINTS: readonly Endpoint[] = TABLE;

type Row = (typeof TABLE)[number];
type OperationOf<E> = E extends {
  readonly method: infer M extends string;
  readonly path: infer P extends string;
}
  ? `${M} ${P}`
  : never;

/** HTTP operations; one without a handler does not compile. */
export type HttpOperation = OperationOf<Extract<Row, { readonly status: 200 | 202 }>>;
/** Paths of WebSockets; each has a dialect. */
export type LivePath = Extract<Row, { readonly status: 101 }>["path"];

/** Method and path of all HTTP operations. */
export const HTTP_OPERATIONS = TABLE.filter((row) => row.status !== 101).map(
  (row) => `${row.method} ${row.path}` as HttpOperation,
);

function open<const Path extends string>(path: Path, summary: string, answer: ComponentName) {
  return {
    method: "GET",
    path,
    group: "Catalog",
    summary,
    isOpen: true,
    status: 200,
    answer: { "application/json": answer },
    errors: [],
  } as const;
}
