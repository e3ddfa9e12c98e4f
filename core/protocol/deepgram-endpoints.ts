import { LISTEN_FILE_QUERY } from "./listen-file-query.js";
import { LISTEN_QUERY } from "./listen-query.js";
import { SPEAK_QUERY, SPEAK_STREAM_QUERY } from "./speak-query.js";
import { TURNS_QUERY } from "./turns-query.js";

/** Endpoints of Deepgram's interface, for the complete table. */
export const DEEPGRAM_ENDPOINTS = [
  {
    method: "POST",
    path: "/v1/speak",
    group: "Speech",
    summary: "Speak a text, in Deepgram's shape",
    description:
      "Returns speech as it is synthesized: a WAV of unknown length, or samples with `container=none`. " +
      "MP3, Deepgram's default, is not supported: without `encoding` the response is `linear16`. Send the " +
      "key as `Authorization: Token KEY` or `Bearer KEY`. Errors are `DeepgramError`.",
    query: SPEAK_QUERY,
    request: { "application/json": "SpeakRequest" },
    status: 200,
    answer: {
      "audio/wav": "bytes",
      "audio/l16": "bytes",
      "audio/basic": "bytes",
      "audio/x-alaw-basic": "bytes",
    },
    answerHeaders: [
      "X-Svc-Chars",
      "X-Svc-Credits",
      "X-Svc-Model",
      "X-Svc-Cold-Start-Ms",
      "X-Svc-Notes",
      "X-Svc-Ignored",
      "Dg-Char-Count",
      "Dg-Model-Name",
      "Dg-Model-Uuid",
      "Dg-Request-Id",
    ],
    isBilled: true,
    errors: [400, 401, 408, 413, 429, 503],
  },
  {
    method: "POST",
    path: "/v1/listen",
    group: "Transcription",
    summary: "Transcribe a file, in Deepgram's shape",
    description:
      "Send the audio as the body, or its `url` in a JSON body. `punctuate`, `smart_format` and `numerals` " +
      "make the text readable, `redact` masks personal data. Options that would change the meaning of the " +
      "response (callback, diarize, search, replace, summarize, ...) are rejected. Send the key as " +
      "`Authorization: Token KEY` or `Bearer KEY`. Errors are `DeepgramError`.",
    query: LISTEN_FILE_QUERY,
    request: { "application/octet-stream": "bytes", "application/json": "ListenUrl" },
    status: 200,
    answer: { "application/json": "ListenTranscript" },
    answerHeaders: [
      "X-Svc-Audio-Seconds",
      "X-Svc-Credits",
      "X-Svc-Model",
      "X-Svc-Cold-Start-Ms",
      "X-Svc-Ignored",
      "Dg-Request-Id",
    ],
    isBilled: true,
    errors: [400, 401, 408, 413, 429, 503],
  },
  {
    method: "GET",
    path: "/v1/listen",
    group: "Live",
    summary: "Live transcription over WebSocket, for Deepgram clients",
    description:
      "The same sessions with the messages of Deepgram's live transcription (`ListenServerMessage`, " +
      "`ListenClientMessage`): `Results`, `SpeechStarted`, `UtteranceEnd`, `Metadata`, `Error`; " +
      "`KeepAlive`, `Finalize`, `CloseStream`. Send the key as `Authorization: Token KEY` or `Bearer KEY`, " +
      "or as the second of the subprotocols `token, KEY`; stream tokens work in the same places. Send raw " +
      "samples of one channel, or a WAV of them. `punctuate`, `smart_format` and `numerals` make finals " +
      "readable, `redact` masks personal data. The handshake lists options without effect in " +
      "`X-Svc-Ignored`; options that would change the meaning of the response (diarize, search, replace, " +
      "callback, dictation, detect_entities) are rejected. Close codes are those of `/v1/stream`. Errors " +
      "before the upgrade are also in the header `dg-error`.",
    query: LISTEN_QUERY,
    status: 101,
    answer: {},
    answerHeaders: ["X-Svc-Ignored"],
    errors: [400, 401, 429, 503],
  },
  {
    method: "GET",
    path: "/v1/speak",
    group: "Speech",
    summary: "Speak text that arrives in pieces, over WebSocket, for Deepgram clients",
    description:
      "The messages of Deepgram's streaming speech (`SpeakClientMessage`, `SpeakServerMessage`): `Speak` " +
      "adds text in pieces of any size, and each sentence is spoken as soon as it is complete; `Flush` " +
      "speaks the rest, `Clear` drops unsent audio, `Close` closes the socket. Speech is sent in binary " +
      "messages of samples without a header. The text between two flushes is charged once, up to the last " +
      "sentence of which any audio was sent. Keys are sent as for `/v1/listen`. Close codes are those of " +
      "`/v1/stream`; 4408 after ten minutes without a message.",
    query: SPEAK_STREAM_QUERY,
    status: 101,
    answer: {},
    answerHeaders: ["X-Svc-Ignored"],
    errors: [400, 401, 429, 503],
  },
  {
    method: "GET",
    path: "/v2/listen",
    group: "Live",
    summary: "Turns of a conversation over WebSocket, for Deepgram clients",
    description:
      "The same sessions with the messages of Deepgram's Flux (`TurnsServerMessage`, " +
      "`TurnsClientMessage`): `TurnInfo` reports when a speaker starts, pauses, resumes and stops. Keys " +
      "are sent as for `/v1/listen`. Close codes are those of `/v1/stream`.",
    query: TURNS_QUERY,
    status: 101,
    answer: {},
    answerHeaders: ["X-Svc-Ignored"],
    errors: [400, 401, 429, 503],
  },
] as const;
