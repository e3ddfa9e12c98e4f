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
      "Sent as it is synthesized: a WAV of unknown length, or with `container=none` samples. Deepgram's default, MP3, is not " +
      "synthesized: without `encoding` the answer is `linear16`. The key comes as `Authorization: Token KEY` or `Bearer KEY`. " +
      "Errors are `DeepgramError`.",
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
      "The audio is the body, or behind the `url` of a JSON body. `punctuate`, `smart_format` and `numerals` " +
      "make the text readable, `redact` masks personal data; what would change the meaning of an answer (callback, diarize, search, replace, summarize, ...) is refused. " +
      "The key comes as `Authorization: Token KEY` or `Bearer KEY`. Errors are `DeepgramError`.",
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
    summary: "Live transcription over WebSocket for clients of Deepgram",
    description:
      "The same sessions in the messages of Deepgram's live transcription (`ListenServerMessage`, `ListenClientMessage`): " +
      "`Results`, `SpeechStarted`, `UtteranceEnd`, `Metadata`, `Error`; `KeepAlive`, `Finalize`, `CloseStream`. The key comes as " +
      "`Authorization: Token KEY` or `Bearer KEY`, or as the second of the subprotocols `token, KEY`; a stream token in the same " +
      "places. Raw samples of one channel, or a WAV of them. `punctuate`, `smart_format` and " +
      "`numerals` make finals readable, `redact` masks personal data; options without effect are named in `X-Svc-Ignored` of the " +
      "handshake; what would change the meaning of an answer (diarize, search, replace, callback, dictation, " +
      "detect_entities) is refused. Close " +
      "codes are those of `/v1/stream`. A refusal before the upgrade says why in `dg-error` too.",
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
    summary: "Speech of text that arrives in pieces, over WebSocket",
    description:
      "Deepgram's messages (`SpeakClientMessage`, `SpeakServerMessage`): `Speak` adds text in pieces of any size, and each sentence is spoken " +
      "as soon as it is complete; `Flush` speaks the rest, `Clear` drops what was not sent, `Close` ends. Speech is sent in binary " +
      "messages of samples without a header. The text between two flushes is charged once, up to the last sentence that has begun " +
      "to sound. The key comes as for `/v1/listen`. Close codes are those of `/v1/stream`; 4408 after ten minutes without a message.",
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
    summary: "Turns of a conversation over WebSocket for clients of Deepgram",
    description:
      "The same sessions in the messages of Deepgram's Flux (`TurnsServerMessage`, `TurnsClientMessage`): `TurnInfo` says when a " +
      "speaker begins, pauses, goes on and has ended. The key comes as for `/v1/listen`. Close codes are those of `/v1/stream`.",
    query: TURNS_QUERY,
    status: 101,
    answer: {},
    answerHeaders: ["X-Svc-Ignored"],
    errors: [400, 401, 429, 503],
  },
] as const;
