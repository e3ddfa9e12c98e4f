import { CLOSE } from "../../core/domain/close-codes.js";
import type { LiveCase, LiveCheck } from "./cases.js";
import type { LIVE_SCRIPTS } from "./live-scripts.js";

const PAGE = "live-protocol.md";

/** Section, requirement, session and checks. The position in the list is the case's number. */
type Row = readonly [
  section: string,
  requirement: string,
  session: keyof typeof LIVE_SCRIPTS,
  ...checks: LiveCheck[],
];

const TEXT = { is: "string" } as const;
const NUMBER = { is: "number" } as const;
const UTTERANCE = { utterance: { is: "integer" }, text: TEXT, start: NUMBER, end: NUMBER } as const;

/** Expects an error on the open socket, and its close code. */
function refusedOpen(code: string, closed: number): readonly [LiveCheck, LiveCheck] {
  return [{ message: { code, detail: TEXT, retryable: false }, which: "some", of: "error" }, { closed }];
}

/** Append only: the number identifies a case. */
const ROWS: readonly Row[] = [
  ["Connect", "a key in the Authorization header opens a session", "no audio", { rule: "opened" }],
  [
    "Connect",
    "the subprotocol svc-bearer is answered with svc-bearer",
    "subprotocol",
    { protocol: "svc-bearer" },
  ],
  ["Connect", "a token in the query opens a session", "token in query", { rule: "opened" }],
  [
    "Connect",
    "a token as the second subprotocol opens a session",
    "token in subprotocol",
    { rule: "opened" },
  ],
  [
    "Connect",
    "a token opens one socket only",
    "used token",
    ...refusedOpen("key_invalid", CLOSE.unauthorized),
  ],
  [
    "Connect",
    "an unknown token gets an error on the open socket",
    "unknown token",
    ...refusedOpen("key_invalid", CLOSE.unauthorized),
  ],
  ["Connect", "a handshake without a key is refused with 401", "no key", { refused: 401 }],
  ["Connect", "a handshake with an unknown key is refused with 401", "wrong key", { refused: 401 }],
  [
    "Connect",
    "an unknown key in a subprotocol gets an error on the open socket",
    "wrong key in subprotocol",
    ...refusedOpen("key_invalid", CLOSE.unauthorized),
  ],
  ["Connect", "a key in the query is refused", "key in query", { refused: 400 }],
  [
    "Connect",
    "an unknown parameter is refused, and named",
    "unknown parameter",
    { refused: 400, detail: "unheard_of" },
  ],
  [
    "Connect",
    "an unknown parameter gets an error on a browser's open socket",
    "unknown parameter in a browser",
    ...refusedOpen("unknown_parameter", CLOSE.badRequest),
  ],
  [
    "Connect",
    "an unknown model gets unknown_model",
    "unknown model",
    ...refusedOpen("unknown_model", CLOSE.badRequest),
  ],
  ["Connect", "eou_ms below 100 is refused", "short silence", { refused: 400, detail: "eou_ms" }],
  ["Connect", "eou_ms above 2000 is refused", "long silence", { refused: 400, detail: "eou_ms" }],
  [
    "Connect",
    "an unknown endpointing is refused",
    "unknown endpointing",
    { refused: 400, detail: "endpointing" },
  ],
  ["Connect", "an unknown encoding is refused", "unknown encoding", { refused: 400, detail: "encoding" }],
  ["Connect", "a bonus above 5 is refused", "high bonus", { refused: 400, detail: "hotwords" }],
  [
    "Connect",
    "with encoding=msgpack every message is one binary map",
    "messagepack",
    { rule: "binary frames" },
  ],
  ["Connect", "without encoding every message is text", "defaults", { rule: "text frames" }],
  [
    "Connect",
    "eou_ms is 200 by default",
    "defaults",
    { message: { eou_ms: 200 }, which: "each", of: "ready" },
  ],
  [
    "Connect",
    "finals have no words by default",
    "defaults",
    { message: { words: { is: "list" } }, which: "none", of: "final" },
  ],
  [
    "Connect",
    "partials=false sends no partials",
    "without partials",
    { message: {}, which: "none", of: "partial" },
  ],
  [
    "Connect",
    "display=true adds display_text to finals",
    "readable text",
    { message: { display_text: TEXT, display_before: TEXT }, which: "each", of: "final" },
  ],
  [
    "Connect",
    "finals have no display_text by default",
    "defaults",
    { message: { display_text: TEXT }, which: "none", of: "final" },
  ],

  ["Client to server", "speech in binary messages gets a final", "defaults", { rule: "final received" }],
  [
    "Client to server",
    "finals do not depend on how audio is split, odd bytes too",
    "odd chunks",
    { sameFinalsAs: "defaults" },
  ],
  ["Client to server", "the header of a WAV is skipped", "wav", { sameSecondsAs: "defaults" }],
  ["Client to server", "keepalive has no answer", "keepalive", { message: {}, which: "none", of: "error" }],
  [
    "Client to server",
    "an empty binary message is a keepalive",
    "empty message",
    { message: {}, which: "none", of: "error" },
  ],
  [
    "Client to server",
    "unknown types are ignored",
    "unknown type",
    { message: {}, which: "none", of: "error" },
  ],
  ["Client to server", "finalize ends the utterance immediately", "finalize", { rule: "final before close" }],
  [
    "Client to server",
    "audio after close is not accepted",
    "audio after close",
    { message: { audio_seconds: 0.5 }, which: "each", of: "done" },
  ],
  [
    "Client to server",
    "text that is not JSON gets bad_message",
    "not json",
    { message: { code: "bad_message", detail: TEXT, retryable: false }, which: "some", of: "error" },
  ],

  ["Server to client", "ready is the first message", "two utterances", { rule: "ready first" }],
  [
    "Server to client",
    "ready has session, request, model, rate and eou_ms",
    "two utterances",
    {
      message: { session_id: TEXT, request_id: TEXT, model: TEXT, sample_rate: 16_000, eou_ms: 300 },
      which: "each",
      of: "ready",
    },
  ],
  [
    "Server to client",
    "partials have utterance, text, start, end and stable",
    "two utterances",
    { message: { ...UTTERANCE, stable: { is: "integer" } }, which: "each", of: "partial" },
  ],
  [
    "Server to client",
    "finals have utterance, text, start and end",
    "two utterances",
    { message: UTTERANCE, which: "each", of: "final" },
  ],
  ["Server to client", "a final is never revised", "two utterances", { rule: "final once" }],
  [
    "Server to client",
    "utterance numbers increase by one",
    "two utterances",
    { rule: "utterances count up" },
  ],
  [
    "Server to client",
    "an utterance's partials precede its final",
    "two utterances",
    { rule: "partials before their final" },
  ],
  [
    "Server to client",
    "stable text is kept by later partials",
    "two utterances",
    { rule: "stable text kept" },
  ],
  [
    "Server to client",
    "times increase within the accepted audio",
    "two utterances",
    { rule: "times in order" },
  ],
  ["Server to client", "times have at most three decimals", "two utterances", { rule: "three decimals" }],
  [
    "Server to client",
    "with words=true finals have words with times and confidence",
    "two utterances",
    { message: { words: { is: "list" } }, which: "each", of: "final" },
    { rule: "words inside their final" },
  ],
  ["Server to client", "done is the last message", "two utterances", { rule: "done last" }],
  ["Server to client", "audio_seconds of done is exact", "two utterances", { rule: "exact seconds" }],
  [
    "Server to client",
    "done reports the charge in whole credits",
    "two utterances",
    { message: { credits_charged: { is: "integer" } }, which: "each", of: "done" },
  ],
  [
    "Server to client",
    "a session without audio costs nothing",
    "no audio",
    { message: { audio_seconds: 0, credits_charged: 0 }, which: "each", of: "done" },
  ],

  [
    "Errors and close codes",
    "a session closes with 1000 after close",
    "two utterances",
    { closed: CLOSE.done },
  ],
  [
    "Errors and close codes",
    "the socket stays open after bad_message",
    "not json",
    { notClosed: CLOSE.badRequest },
  ],
  [
    "Errors and close codes",
    "text longer than 64 Ki characters gets bad_message",
    "long text",
    { message: { code: "bad_message" }, which: "some", of: "error" },
  ],
  [
    "Errors and close codes",
    "ten messages that are not JSON end the session",
    "ten times not json",
    ...refusedOpen("too_many_messages", CLOSE.badRequest),
  ],
  [
    "Errors and close codes",
    "a message over 1 MiB closes with 1009",
    "large message",
    { closed: CLOSE.messageTooLong },
  ],
  [
    "Errors and close codes",
    "a silent client is closed after 60 s",
    "idle",
    ...refusedOpen("idle", CLOSE.idle),
  ],
  [
    "Errors and close codes",
    "a backlog over 60 s gets too_fast",
    "too fast",
    { rule: "kept up or too fast" },
  ],
  [
    "Limits",
    "a flood of text messages gets too_many_messages",
    "flood",
    ...refusedOpen("too_many_messages", CLOSE.badRequest),
  ],
  [
    "Compressed audio and files",
    "an MP4 file gets unsupported_format",
    "mp4 file",
    ...refusedOpen("unsupported_format", CLOSE.badRequest),
  ],
  [
    "Compressed audio and files",
    "a WAV of another rate gets unsupported_format",
    "wav of another rate",
    ...refusedOpen("unsupported_format", CLOSE.badRequest),
  ],
  ["Connect", "partials must be a flag", "unknown flag", { refused: 400, detail: "partials" }],
  ["Connect", "unknown numerals are refused", "unknown numerals", { refused: 400, detail: "numerals" }],
  [
    "Connect",
    "an unknown kind in redact is refused",
    "unknown personal data",
    { refused: 400, detail: "redact" },
  ],
  ["Connect", "an unknown path is refused with 404", "unknown path", { refused: 404 }],
];

/** Requirements of docs/live-protocol.md on `/v1/stream`. */
export const LIVE_CASES: readonly LiveCase[] = ROWS.map(
  ([section, requirement, session, ...checks], index) => ({
    ...{ id: `live-${index + 1}`, page: PAGE, section, requirement },
    ...{ session, checks },
  }),
);
