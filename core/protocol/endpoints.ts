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

/** Headers of answers, in addition to those of every answer. */
export const ANSWER_HEADERS = {
  "X-Svc-Chars": { type: "integer", description: "Billed characters: code points of the submitted text" },
  "X-Svc-Stream": { type: "string", description: "Always `wav-frames-v1`" },
  "X-Svc-Audio-Seconds": { type: "number", description: "Billed duration" },
  "X-Svc-Credits": { type: "integer", description: "Credits charged" },
  "X-Svc-Model": { type: "string", description: "Model used" },
  "X-Svc-Cold-Start-Ms": {
    type: "integer",
    description: "Only when the request waited over 1 s for its model: how long, in milliseconds",
  },
  "X-Svc-Notes": {
    type: "string",
    description:
      "Only when there is something to know about the text: stable names, with commas between. `russian_text`: a sentence of " +
      "it is Russian, and the voice says it with Kazakh sounds; `dropped_characters`: it has emoji, other scripts or the " +
      "like, which have no reading and are left out",
  },
  "X-Svc-Ignored": {
    type: "string",
    description: "Only when something was given that has no effect here: its names, with commas between",
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

/** Idempotency of billed endpoints: the request's header, its effect on the answer, and its errors. */
export const IDEMPOTENCY = {
  header: "Idempotency-Key",
  rule: { minLength: 1, maxLength: 255, pattern: "^[ -~]+$" },
  description:
    "Makes a repetition safe: within 24 hours the same request with the same key is charged once and gets the same " +
    "answer. A key that is still at work answers 409, one of another request 422. After an error the key takes the same " +
    "request again. Keys are your organization's own; a random UUID is a good one.",
  answerHeaders: {
    "Idempotent-Replayed": {
      type: "string",
      description: "`true` when this request was not charged: its answer had been paid for",
    },
    "Original-Request": {
      type: "string",
      description: "`x-request-id` of the request that was charged for this answer, when it was another one",
    },
  },
  errors: [409, 422],
} as const;

/** Content of a body by media type: a component, one of several, plain text, or bytes. */
export type Content = Readonly<Record<string, ComponentName | readonly ComponentName[] | "text" | "bytes">>;

/** Header that identifies OpenAI's clients. */
export const OPENAI_CLIENT_HEADER = "x-stainless-lang";

/** Returns whether OpenAI's clients expect their error body on a path: their endpoints and the catalog. */
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
  /** Costs credits, and takes an `Idempotency-Key`. */
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
      "Answers with one WAV: 24 kHz, 16-bit PCM, mono. With `timestamps=true` with `TimedSpeech`: the same WAV in base64, and " +
      "each word with its place in the text. A model that does not tell when it says its words refuses (400).",
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
      "A sequence of frames: 4 bytes big-endian length N, then N bytes that are one playable WAV. One frame leaves as " +
      "each sentence is finished, with `frames=chunks` as each part of it is. A failure in the middle breaks the connection. With `timestamps=true` each WAV holds, behind its " +
      'samples, a RIFF chunk `wrds` of JSON in UTF-8: `{"words": [WordTime, ...]}` of that sentence, or those that begin in that part, times from the beginning of ' +
      "that WAV. Readers that do not know the chunk skip it.",
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
      "`text` adds text in pieces of any size (`TtsLiveClientMessage`), and each sentence is spoken as soon as it is complete; `flush` " +
      "speaks the rest, `cancel` drops what was not sent, `close` speaks the rest and ends. Every binary message follows an `audio` that says " +
      "which sentence and turn it belongs to, and its words with their times (`TtsLiveServerMessage`). A turn is charged once, up to " +
      "the end of the last sentence whose audio was sent in part. The key comes as for `/v1/stream`, and so do refusals and close " +
      "codes; 4408 after ten minutes without a message.",
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
      "`pcm` is sent as it is made, and so are the server-sent events of `stream_format: sse`: `SpeechDelta` with the audio in " +
      "base64, then `SpeechDone`, or an event `error`.",
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
      "Exactly one source of audio: a raw body, a form with a part `file`, or `url`. With `Accept: text/event-stream` the answer is " +
      "server-sent events: `progress` (`TranscriptionProgress`) while the audio is transcribed, then `result` with the JSON answer, or " +
      "`error` (`ErrorEvent`); what is refused before the first of them has its status. Comments keep the connection open.",
    query: TRANSCRIBE_QUERY,
    requestHeaders: {
      "x-filename": "Name of a raw body; only its extension matters, it names the container",
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
      "`json` answers `PlainTranscript`, `verbose_json` answers `VerboseTranscript`. With `stream` the answer is server-sent " +
      "events: `TranscriptDelta` as the text is transcribed, then `TranscriptDone`, or an event `error`.",
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
      "Send binary messages of 16-bit little-endian PCM, mono, 16 kHz, or WebM or Ogg with Opus, in pieces of any size, and text messages " +
      "(`StreamClientMessage`); receive `StreamServerMessage`. The key comes as `Authorization: Bearer`, as the second " +
      'of the subprotocols `["svc-bearer", KEY]`, or as a token in the query. With a header a refusal is an HTTP answer; ' +
      "else the socket opens, sends `error`, and closes with 4000 + the HTTP status. Other close codes: 1000 done, 1011 " +
      "internal, 1012 going away, 1013 no capacity, 4408 idle for 60 s, 4413 over 4 hours. While the model is cold the " +
      "socket opens all the same: audio may be sent at once, `ready` comes when the model is there.",
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
    summary: "Live transcription over WebSocket for clients of OpenAI",
    description:
      "The same sessions in the events of OpenAI's realtime transcription (`RealtimeServerEvent`, `RealtimeClientEvent`), in the " +
      "form of the beta for clients that ask for it (`OpenAI-Beta: realtime=v1`). The key comes as `Authorization: Bearer`, or as " +
      "one of the subprotocols `realtime, openai-insecure-api-key.KEY`; a client secret in the same places. Audio is base64 in " +
      "`input_audio_buffer.append`: 16-bit little-endian PCM at 24 kHz, or G.711 at 8 kHz. Sessions only transcribe: other events " +
      "get an `error`. Close codes are those of `/v1/stream`.",
    query: REALTIME_QUERY,
    status: 101,
    answer: {},
    errors: [400, 401, 404, 429, 503],
  },
  {
    method: "POST",
    path: "/v1/realtime/client_secrets",
    group: "Live",
    summary: "Make a secret that opens realtime sessions, in OpenAI's shape",
    description:
      "For pages, which must not know the key: valid for 10 minutes unless `expires_after` says otherwise.",
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
    summary: "Make such a secret, in the shape of OpenAI's beta",
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
    summary: "Make a token that opens one live socket within 60 s",
    query: NO_QUERY,
    status: 200,
    answer: { "application/json": "StreamToken" },
    errors: [400, 401, 503],
  },
  ...ACCOUNT_ENDPOINTS,
  open("/v1/models", "Installed models: those that speak, and beside them those that transcribe", "Models"),
  {
    ...open("/v1/voices", "Voices of a model", "Voices"),
    query: VOICES_QUERY,
    errors: [400, 404],
  },
  open("/v1/audio/models", "Models, as chat front ends ask for them", "AudioModels"),
  open("/v1/audio/voices", "Voices, as chat front ends ask for them", "AudioVoices"),
  open("/health", "Whether the service is up", "Health"),
  {
    ...open(
      "/ready",
      "Whether the service can take work; a model that is cold is loaded when it is needed",
      "Readiness",
    ),
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
