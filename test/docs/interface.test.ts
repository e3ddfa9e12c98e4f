import assert from "node:assert/strict";
import { test } from "node:test";
import type { z } from "zod";
import { CLOSE } from "../../core/domain/close-codes.js";
import { type ErrorCode, errorName } from "../../core/domain/errors.js";
import { ANSWER_HEADERS, ENDPOINTS, IDEMPOTENCY } from "../../core/protocol/endpoints.js";
import { CLOSE_CODE, errorHeaders, HTTP_STATUS } from "../../core/protocol/error-status.js";
import { LISTEN_FILE_QUERY } from "../../core/protocol/listen-file-query.js";
import { LISTEN_CLIENT_MESSAGE, LISTEN_SERVER_MESSAGE } from "../../core/protocol/listen-messages.js";
import { LISTEN_QUERY } from "../../core/protocol/listen-query.js";
import { REALTIME_CLIENT_EVENT, REALTIME_SERVER_EVENT } from "../../core/protocol/realtime-events.js";
import { REALTIME_QUERY } from "../../core/protocol/realtime-query.js";
import { SPEAK_CLIENT_MESSAGE, SPEAK_SERVER_MESSAGE } from "../../core/protocol/speak-messages.js";
import { SPEAK_QUERY } from "../../core/protocol/speak-query.js";
import { SPEECH_REQUEST } from "../../core/protocol/speech-request.js";
import { STREAM_CLIENT_MESSAGE, STREAM_SERVER_MESSAGE } from "../../core/protocol/stream-messages.js";
import { STREAM_QUERY } from "../../core/protocol/stream-query.js";
import { SYNTHESIS_REQUEST } from "../../core/protocol/synthesis-request.js";
import { TRANSCRIBE_QUERY } from "../../core/protocol/transcribe-query.js";
import { TRANSCRIPTION_FIELDS } from "../../core/protocol/transcription-form.js";
import { TTS_LIVE_CLIENT_MESSAGE, TTS_LIVE_SERVER_MESSAGE } from "../../core/protocol/tts-live-messages.js";
import { TTS_LIVE_QUERY } from "../../core/protocol/tts-live-query.js";
import { TURNS_CLIENT_MESSAGE, TURNS_SERVER_MESSAGE } from "../../core/protocol/turns-messages.js";
import { TURNS_QUERY } from "../../core/protocol/turns-query.js";
import { codeSpans, read, section, tableRows } from "./markdown.js";

const API = read("docs/api.md");
const SPEECH = read("docs/api-speech.md");
const TRANSCRIPTION = read("docs/api-transcription.md");
const ERRORS = read("docs/api-errors.md");
const LIVE = read("docs/live-protocol.md");
const SPEECH_LIVE = read("docs/speech-live.md");
const DEEPGRAM = read("docs/api-deepgram.md");
const REALTIME = read("docs/realtime.md");
const CODES = Object.keys(HTTP_STATUS) as ErrorCode[];

test("docs/api-errors.md lists exactly the errors, with status and Retry-After", () => {
  const shown = tableRows(section(ERRORS, "## Errors")).map(([code = "", status = "", retry = ""]) => {
    return `${codeSpans(code)[0]} ${status} ${retry === "" ? "" : `${Number.parseInt(retry, 10)} s`}`;
  });
  const known = CODES.map((code) => {
    const seconds = errorHeaders(code)["retry-after"];
    return `${errorName(code)} ${HTTP_STATUS[code]} ${seconds === undefined ? "" : `${seconds} s`}`;
  });
  assert.deepEqual(shown.toSorted(), known.toSorted());
});

test("docs/live-protocol.md lists every close code with its errors", () => {
  const named = new Map<number, string>();
  for (const [code, names = ""] of tableRows(section(LIVE, "## Errors and close codes"))) {
    named.set(Number(code), `${named.get(Number(code)) ?? ""} ${names}`);
  }
  const used = new Set<number>([...Object.values(CLOSE_CODE), ...Object.values(CLOSE)]);
  assert.deepEqual([...named.keys()].sort(), [...used].sort());
  for (const code of LIVE_ERRORS) {
    const names = codeSpans(named.get(CLOSE_CODE[code])!);
    assert.ok(names.includes(errorName(code)), `${errorName(code)} beside ${CLOSE_CODE[code]}`);
  }
});

/** Socket errors other than bad requests. Errors of files and speech never occur on a socket. */
const LIVE_ERRORS: readonly ErrorCode[] = [
  ...(["KEY_INVALID", "OUT_OF_CREDITS", "TOO_MANY_REQUESTS", "AUTH_UNAVAILABLE", "ENGINE_BUSY"] as const),
  ...(["STORAGE_FULL", "WORKER_LOST", "MODEL_BROKEN", "SHUTTING_DOWN", "INTERNAL"] as const),
];

test("docs/api.md lists every endpoint, with its billing and authentication", () => {
  const rows = tableRows(section(API, "## Endpoints"));
  for (const { method, path, isOpen = false, isBilled = false } of ENDPOINTS) {
    const row = rows.find(([endpoints = ""]) => codeSpans(endpoints).includes(`${method} ${path}`));
    assert.ok(row !== undefined, `${method} ${path}`);
    assert.equal(row[2]!.startsWith("no"), isOpen, `${path} needs no key`);
    // Live sessions are billed too, but without an idempotency key.
    if (isBilled) assert.match(row[2]!, /billed/, path);
  }
});

test("docs/api-errors.md lists every response header", () => {
  const shown = codeSpans(ERRORS);
  const { header, answerHeaders } = IDEMPOTENCY;
  for (const name of [...Object.keys(ANSWER_HEADERS), ...Object.keys(answerHeaders), header]) {
    assert.ok(shown.includes(name), name);
  }
});

interface ShownRequest {
  readonly page: string;
  readonly heading: string;
  readonly schema: z.ZodObject;
  /** Fields that the schema requires. */
  readonly minimal: Readonly<Record<string, string>>;
  /** Fields that are read, but not by the schema. */
  readonly also?: readonly string[];
}

const REQUESTS: readonly ShownRequest[] = [
  { page: SPEECH, heading: "## Speak: `POST /v1/tts`", schema: SYNTHESIS_REQUEST, minimal: { text: "а" } },
  {
    page: SPEECH,
    heading: "## Speak, in OpenAI's shape: `POST /v1/audio/speech`",
    schema: SPEECH_REQUEST,
    minimal: { input: "а" },
  },
  {
    page: TRANSCRIPTION,
    heading: "## Transcribe: `POST /v1/transcribe`",
    schema: TRANSCRIBE_QUERY.schema,
    minimal: {},
  },
  {
    page: TRANSCRIPTION,
    heading: "## Transcribe, in OpenAI's shape: `POST /v1/audio/transcriptions`",
    schema: TRANSCRIPTION_FIELDS,
    minimal: {},
    also: ["file"],
  },
  { page: LIVE, heading: "## Connect", schema: STREAM_QUERY.schema, minimal: {} },
  {
    page: LIVE,
    heading: "## Deepgram's messages: `/v1/listen`",
    schema: LISTEN_QUERY.schema,
    minimal: {},
    also: ["token"],
  },
  { page: SPEECH_LIVE, heading: "## Connect", schema: TTS_LIVE_QUERY.schema, minimal: {} },
  {
    page: DEEPGRAM,
    heading: "## Transcribe a file: `POST /v1/listen`",
    schema: LISTEN_FILE_QUERY.schema,
    minimal: {},
  },
  {
    page: DEEPGRAM,
    heading: "## Turns of a conversation: `GET /v2/listen` (WebSocket)",
    schema: TURNS_QUERY.schema,
    minimal: {},
  },
  { page: DEEPGRAM, heading: "## Speak a text: `POST /v1/speak`", schema: SPEAK_QUERY.schema, minimal: {} },
];

for (const { page, heading, schema, minimal, also = [] } of REQUESTS) {
  const rows = tableRows(section(page, heading)).filter(([name = ""]) => /^`[a-z_]+`/.test(name));

  test(`${heading.slice(3)}: the page shows exactly the fields that are read`, () => {
    const shown = rows.flatMap(([names = ""]) => codeSpans(names));
    assert.deepEqual(shown.toSorted(), [...Object.keys(schema.shape), ...also].sort());
  });

  test(`${heading.slice(3)}: the page shows the defaults that are used`, () => {
    const used = schema.parse(minimal) as Record<string, unknown>;
    let compared = 0;
    for (const row of rows) {
      // A row has a name, on some pages a type, then a default and a rule.
      const cell = row.at(-2)!;
      for (const name of codeSpans(row[0]!)) {
        const value = used[name];
        if (name in minimal || !["number", "boolean", "string"].includes(typeof value)) continue;
        const [shown] = /^[\w.-]+/.exec(cell.replaceAll("`", "")) ?? [];
        assert.equal(shown, String(value), name);
        compared++;
      }
    }
    assert.ok(compared > 0, "a default was compared");
  });
}

test("docs/realtime.md names every event and parameter", () => {
  for (const { options } of [REALTIME_CLIENT_EVENT, REALTIME_SERVER_EVENT]) {
    for (const { shape } of options)
      assert.ok(REALTIME.includes(`\`${shape.type.value}\``), shape.type.value);
  }
  const shown = tableRows(section(REALTIME, "## Connect")).flatMap(([name = ""]) => codeSpans(name));
  for (const name of Object.keys(REALTIME_QUERY.schema.shape)) assert.ok(shown.includes(name), name);
});

const MESSAGES = [
  { heading: "## Client to server", schema: STREAM_CLIENT_MESSAGE },
  { heading: "## Server to client", schema: STREAM_SERVER_MESSAGE },
  { heading: "## Deepgram's messages: `/v1/listen`", schema: LISTEN_CLIENT_MESSAGE },
  { heading: "## Deepgram's messages: `/v1/listen`", schema: LISTEN_SERVER_MESSAGE },
];

test("docs/api-deepgram.md names every message, and what its query rejects", () => {
  for (const [heading, schema] of [
    ["## Speak text in pieces: `GET /v1/speak` (WebSocket)", SPEAK_CLIENT_MESSAGE],
    ["## Speak text in pieces: `GET /v1/speak` (WebSocket)", SPEAK_SERVER_MESSAGE],
    ["## Turns of a conversation: `GET /v2/listen` (WebSocket)", TURNS_CLIENT_MESSAGE],
    ["## Turns of a conversation: `GET /v2/listen` (WebSocket)", TURNS_SERVER_MESSAGE],
  ] as const) {
    const text = section(DEEPGRAM, heading);
    for (const type of schema.options.flatMap(({ shape }): readonly string[] => [...shape.type.values]))
      assert.ok(text.includes(`\`${type}\``) || text.includes(`"type":"${type}"`), type);
  }
  const named = codeSpans(section(DEEPGRAM, "## Transcribe a file: `POST /v1/listen`"));
  for (const name of LISTEN_FILE_QUERY.others.alsoKnown) assert.ok(named.includes(name), name);
});

test("docs/live-protocol.md names every message", () => {
  for (const { heading, schema } of MESSAGES) {
    const text = section(LIVE, heading);
    for (const type of schema.options.flatMap(({ shape }) => [...shape.type.values])) {
      assert.ok(text.includes(`\`${type}\``) || text.includes(`"type":"${type}"`), `${heading}: ${type}`);
    }
  }
});

test("docs/speech-live.md names every message, and its examples are messages, one of each type", () => {
  const sent = section(SPEECH_LIVE, "## Client to server");
  for (const { shape } of TTS_LIVE_CLIENT_MESSAGE.options)
    assert.ok(sent.includes(`"type":"${shape.type.value}"`), shape.type.value);
  const received = section(SPEECH_LIVE, "## Server to client");
  const types = TTS_LIVE_SERVER_MESSAGE.options.map(({ shape }) => shape.type.value);
  const rows = tableRows(received).flatMap(([name = ""]) => codeSpans(name));
  for (const type of types) assert.ok(rows.includes(type), type);
  const [, examples = ""] = /```json\n(.*?)```/s.exec(received) ?? [];
  const messages = examples.split(/\n(?=\{)/).map((line) => JSON.parse(line));
  assert.deepEqual(messages.map(({ type }) => type).sort(), [...types].sort());
  for (const message of messages) assert.deepEqual(TTS_LIVE_SERVER_MESSAGE.parse(message), message);
});

test("the examples of docs/live-protocol.md are messages, one of each type", () => {
  const [, examples = ""] = /```json\n(.*?)```/s.exec(section(LIVE, "## Server to client")) ?? [];
  const messages = examples.split(/\n(?=\{)/).map((line) => JSON.parse(line));
  const types = STREAM_SERVER_MESSAGE.options.flatMap(({ shape }) => [...shape.type.values]);
  assert.deepEqual(messages.map(({ type }) => type).sort(), types.sort());
  for (const message of messages) assert.deepEqual(STREAM_SERVER_MESSAGE.parse(message), message);
});
