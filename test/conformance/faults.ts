import { WavFrameReader } from "../../core/protocol/wav-frames.js";
import type { Answer, Message, Trace, TraceEntry } from "../../src/conformance/trace.js";
import type { Records } from "./replay.js";

/** A server that breaks one rule, and the number of the case that must detect this. */
export interface Fault {
  readonly is: string;
  readonly foundBy: string;
  readonly apply: (records: Records) => Records;
}

type Edit = (message: Message, index: number, all: readonly Message[]) => readonly Message[];

/** Changes the record of the named sessions; without names, of all sessions. */
function onTraces(names: readonly string[], edit: (trace: Trace, records: Records) => Trace): Fault["apply"] {
  return (records) => {
    const changed = [...records.traces].map(
      ([name, trace]) =>
        [name, names.length === 0 || names.includes(name) ? edit(trace, records) : trace] as const,
    );
    return { ...records, traces: new Map(changed) };
  };
}

function onAnswers(
  names: readonly string[],
  edit: (answer: Answer, records: Records) => Answer,
): Fault["apply"] {
  return (records) => {
    const changed = [...records.answers].map(
      ([name, answer]) => [name, names.includes(name) ? edit(answer, records) : answer] as const,
    );
    return { ...records, answers: new Map(changed) };
  };
}

/** Replaces each message of some sessions. */
function onMessages(names: readonly string[], edit: Edit): Fault["apply"] {
  return onTraces(names, (trace) => {
    const all = trace.entries.flatMap((entry) => ("received" in entry ? [entry.received] : []));
    const entries = trace.entries.flatMap((entry): readonly TraceEntry[] =>
      "received" in entry
        ? edit(entry.received, all.indexOf(entry.received), all).map((received) => ({ ...entry, received }))
        : [entry],
    );
    return { ...trace, entries };
  });
}

/** Changes members of the messages of one type that satisfy a condition. */
function changed(
  names: readonly string[],
  type: string,
  change: (message: Message) => Readonly<Record<string, unknown>>,
  where: (message: Message) => boolean = () => true,
): Fault["apply"] {
  return onMessages(names, (message) =>
    message.type === type && where(message) ? [{ ...message, ...change(message) }] : [message],
  );
}

const closes = (names: readonly string[], closeCode: number) =>
  onTraces(names, (trace) => ({ ...trace, closeCode }));
const likeOther = (name: string, other: string) =>
  onTraces([name], (_trace, { traces }) => traces.get(other)!);
const refuses = (name: string, status: number, body: string) =>
  onTraces([name], (trace) => ({ ...trace, refusal: { status, body } }));
const answersError = (name: string): Fault["apply"] =>
  onMessages([name], (message) =>
    message.type === "done"
      ? [{ type: "error", code: "x", detail: "x", retryable: false }, message]
      : [message],
  );
const isSecond = ({ utterance }: Message) => utterance === 1;
const TWO = ["two utterances"];
const SAME = ["defaults", "odd chunks", "wav"];

const LIVE: readonly (readonly [is: string, foundBy: number, apply: Fault["apply"]])[] = [
  ["refuses a valid key", 1, refuses("no audio", 401, '{"detail":"no"}')],
  ["does not repeat the subprotocol", 2, onTraces(["subprotocol"], (trace) => ({ ...trace, protocol: "" }))],
  ["refuses tokens in the query", 3, likeOther("token in query", "no key")],
  ["refuses tokens in subprotocols", 4, likeOther("token in subprotocol", "no key")],
  ["accepts a token twice", 5, likeOther("used token", "unknown type")],
  ["calls an unknown token idle", 6, changed(["unknown token"], "error", () => ({ code: "idle" }))],
  ["refuses with a body of another shape", 7, refuses("no key", 401, '{"error":"no key"}')],
  ["refuses an unknown key with 403", 8, refuses("wrong key", 403, '{"detail":"no"}')],
  ["closes on an unknown key with 1008", 9, closes(["wrong key in subprotocol"], 1008)],
  ["accepts keys in the query", 10, likeOther("key in query", "unknown type")],
  ["does not name the unknown parameter", 11, refuses("unknown parameter", 400, '{"detail":"bad query"}')],
  ["accepts unknown parameters of browsers", 12, likeOther("unknown parameter in a browser", "subprotocol")],
  [
    "calls an unknown model not_found",
    13,
    changed(["unknown model"], "error", () => ({ code: "not_found" })),
  ],
  ["accepts a short silence", 14, likeOther("short silence", "unknown type")],
  ["accepts a long silence", 15, likeOther("long silence", "unknown type")],
  ["accepts an unknown endpointing", 16, likeOther("unknown endpointing", "unknown type")],
  ["accepts an unknown encoding", 17, likeOther("unknown encoding", "unknown type")],
  ["accepts a high bonus", 18, likeOther("high bonus", "unknown type")],
  ["ignores encoding=msgpack", 19, likeOther("messagepack", "without partials")],
  ["sends MessagePack unasked", 20, onTraces(["defaults"], binary)],
  ["waits 400 ms by default", 21, changed(["defaults"], "ready", () => ({ eou_ms: 400 }))],
  ["sends words unasked", 22, changed(["defaults"], "final", () => ({ words: [] }))],
  [
    "sends partials without a request",
    23,
    onMessages(["without partials"], (each) =>
      each.type === "final" ? [{ ...each, type: "partial", stable: 0 }, each] : [each],
    ),
  ],
  ["ignores display=true", 24, likeOther("readable text", "defaults")],
  ["sends readable text unasked", 25, changed(["defaults"], "final", ({ text }) => ({ display_text: text }))],
  ["sends no text", 26, changed(SAME, "final", () => ({ text: "" }))],
  ["loses odd bytes", 27, changed(["odd chunks"], "final", () => ({ text: "ш" }))],
  ["decodes the header of a WAV", 28, changed(["wav"], "done", () => ({ audio_seconds: 9 }))],
  ["answers keepalive with an error", 29, answersError("keepalive")],
  ["answers an empty message with an error", 30, answersError("empty message")],
  ["answers unknown types with an error", 31, answersError("unknown type")],
  ["ends the session at finalize", 32, onTraces(["finalize"], withoutFinal)],
  ["accepts audio after close", 33, changed(["audio after close"], "done", () => ({ audio_seconds: 1 }))],
  ["names bad_message otherwise", 34, changed(["not json"], "error", () => ({ code: "invalid" }))],
  ["sends ready late", 35, onMessages(TWO, (each, at, all) => [at > 1 ? each : all[1 - at]!])],
  ["leaves request_id out", 36, changed(TWO, "ready", () => ({ request_id: undefined }))],
  ["sends stable as text", 37, changed(TWO, "partial", ({ stable }) => ({ stable: `${stable}` }))],
  ["sends start as text", 38, changed(TWO, "final", ({ start }) => ({ start: `${start}` }))],
  [
    "revises a final",
    39,
    onMessages(TWO, (each) => (each.type === "final" ? [each, { ...each, text: "other" }] : [each])),
  ],
  [
    "skips an utterance number",
    40,
    onMessages(TWO, (each) => [isSecond(each) ? { ...each, utterance: 2 } : each]),
  ],
  [
    "sends a partial after its final",
    41,
    onMessages(TWO, (each, at, all) => (each.type === "final" ? [each, all[at - 1]!] : [each])),
  ],
  [
    "changes stable text",
    42,
    onMessages(TWO, (each, at, all) => {
      if (each.type !== "partial" || all[at + 1]?.type !== "final") return [each];
      const text = String(each["text"]);
      return [
        { ...each, stable: [...text].length },
        { ...each, text: `ш${text}`, stable: 0 },
      ];
    }),
  ],
  ["goes back in time", 43, changed(TWO, "final", () => ({ start: 0 }), isSecond)],
  ["sends times of four decimals", 44, changed(TWO, "final", ({ end }) => ({ end: Number(end) + 0.0004 }))],
  ["ignores words=true", 45, changed(TWO, "final", () => ({ words: undefined }))],
  [
    "places words outside their final",
    45,
    changed(TWO, "final", ({ end }) => ({
      words: [{ word: "ш", start: Number(end) + 1, end: Number(end) + 2, confidence: 1 }],
    })),
  ],
  ["omits done", 46, onMessages([], (each) => (each.type === "done" ? [] : [each]))],
  [
    "sends a message after done",
    46,
    onMessages(TWO, (each, _at, all) => (each.type === "done" ? [each, all[0]!] : [each])),
  ],
  ["miscounts the audio", 47, changed(TWO, "done", () => ({ audio_seconds: 1 }))],
  ["charges half credits", 48, changed(TWO, "done", () => ({ credits_charged: 1.5 }))],
  ["charges silence", 49, changed(["no audio"], "done", () => ({ credits_charged: 6 }))],
  ["closes with 1001", 50, closes(TWO, 1001)],
  ["closes after bad_message", 51, closes(["not json"], 4400)],
  ["accepts long text", 52, changed(["long text"], "error", () => ({ code: "x" }))],
  ["closes with 1008 after ten bad messages", 53, closes(["ten times not json"], 1008)],
  ["accepts large messages", 54, closes(["large message"], 1000)],
  ["closes an idle client with 1000", 55, closes(["idle"], 1000)],
  ["closes a fast client with 1011", 56, closes(["too fast"], 1011)],
  ["closes a flood with 1000", 57, closes(["flood"], 1000)],
  ["decodes MP4 as samples", 58, likeOther("mp4 file", "ten times not json")],
  ["decodes 8 kHz as 16", 59, likeOther("wav of another rate", "ten times not json")],
  ["accepts an unknown flag", 60, likeOther("unknown flag", "unknown type")],
  ["accepts unknown numerals", 61, likeOther("unknown numerals", "unknown type")],
  ["does not name redact", 62, refuses("unknown personal data", 400, '{"detail":"bad query"}')],
  ["refuses an unknown path with 400", 63, refuses("unknown path", 400, '{"detail":"no"}')],
];

const BOTH = ["sentences", "the same again"];
const refusedWith = (name: string, edit: Partial<Answer>) =>
  onAnswers([name], (answer) => ({ ...answer, ...edit }));
const bytesLike = (names: readonly string[], other: string) =>
  onAnswers(names, (answer, { answers }) => ({ ...answer, bytes: answers.get(other)!.bytes }));
const withoutHeader = (names: readonly string[], header: string) =>
  onAnswers(names, (answer) => ({ ...answer, headers: { ...answer.headers, [header]: "x" } }));
const errorCode = (name: string) => withoutHeader([name], "x-svc-error");
const otherBody = { bytes: Buffer.from('{"error":"no"}') };

const SPEECH: readonly (readonly [is: string, foundBy: number, apply: Fault["apply"]])[] = [
  ["answers with 201", 1, refusedWith("sentences", { status: 201 })],
  ["sends another type", 2, withoutHeader(["sentences"], "content-type")],
  ["names its frames otherwise", 3, withoutHeader(["sentences"], "x-svc-stream")],
  [
    "cuts the stream off",
    4,
    onAnswers(BOTH, (answer) => ({ ...answer, bytes: Buffer.concat([answer.bytes, Buffer.alloc(3)]) })),
  ],
  ["sends WAVs of 8 kHz", 5, onAnswers(BOTH, (answer) => withFrames(answer, (frames) => frames.map(at8Khz)))],
  ["sends both sentences at once", 6, onAnswers(BOTH, (answer) => withFrames(answer, ([first]) => [first!]))],
  ["sends words unasked", 7, bytesLike(BOTH, "timestamps")],
  ["ignores timestamps=true", 8, bytesLike(["timestamps"], "sentences")],
  [
    "misplaces words in the text",
    9,
    onAnswers(["timestamps"], (answer) => ({ ...answer, bytes: misplaced(answer.bytes) })),
  ],
  ["ignores frames=chunks", 10, bytesLike(["chunks"], "sentences")],
  ["gives other samples each time", 11, bytesLike(["the same again"], "timestamps")],
  ["fails before the first frame", 12, refusedWith("canceled", { status: 500 })],
  ["is blocked by a canceled stream", 13, refusedWith("after a canceled one", { status: 503 })],
  ["charges a repeated request", 14, withoutHeader(["keyed again"], "idempotent-replayed")],
  ["answers 403 without a key", 15, refusedWith("no key", { status: 403 })],
  ["answers 403 to an unknown key", 16, refusedWith("wrong key", { status: 403 })],
  ["refuses with a body of another shape", 17, refusedWith("not json", otherBody)],
  ["names an empty text otherwise", 18, errorCode("no text")],
  ["names a long text otherwise", 19, errorCode("long text")],
  ["names an unknown voice otherwise", 20, errorCode("unknown voice")],
  ["names an unknown model otherwise", 21, errorCode("unknown model")],
  ["does not name speed", 22, refusedWith("fast speech", { bytes: Buffer.from('{"detail":"bad request"}') })],
  ["ignores unknown parameters", 23, refusedWith("unknown parameter", { status: 200 })],
];

export const FAULTS: readonly Fault[] = [
  ...LIVE.map(([is, number, apply]) => ({ is, foundBy: `live-${number}`, apply })),
  ...SPEECH.map(([is, number, apply]) => ({ is, foundBy: `speech-${number}`, apply })),
];

/** The server sends `done` without waiting for `close`. */
function withoutFinal(trace: Trace): Trace {
  const isKept = (entry: TraceEntry) =>
    "sent" in entry ? entry.sent !== "close" : entry.received.type !== "final";
  return { ...trace, entries: trace.entries.filter(isKept) };
}

function binary(trace: Trace): Trace {
  const entries = trace.entries.map((entry) => ("received" in entry ? { ...entry, isBinary: true } : entry));
  return { ...trace, entries };
}

function withFrames(answer: Answer, edit: (frames: readonly Uint8Array[]) => readonly Uint8Array[]): Answer {
  const frames = edit(new WavFrameReader().push(answer.bytes)).flatMap((frame) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(frame.length);
    return [length, frame];
  });
  return { ...answer, bytes: Buffer.concat(frames) };
}

function at8Khz(frame: Uint8Array): Uint8Array {
  const copy = Buffer.from(frame);
  copy.writeUInt32LE(8_000, 24);
  return copy;
}

/** Moves the first word by one character, so that the JSON keeps its length. */
function misplaced(bytes: Uint8Array): Uint8Array {
  const copy = Buffer.from(bytes);
  copy.write('"from":1', copy.indexOf('"from":0'));
  return copy;
}
