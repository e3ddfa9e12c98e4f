import type { SpeechCase, SpeechCheck, SpeechScript } from "./cases.js";

const SENTENCES = "Сәлеметсіз бе! Бұл сынақ.";
/** The fewest solver steps: the cases check the shape of the response, not its sound. */
const QUICK = { nfe: 4 } as const;
const SPOKEN = { text: SENTENCES, ...QUICK } as const;

/** The requests, by name. */
export const SPEECH_SCRIPTS = {
  sentences: { body: SPOKEN },
  "the same again": { body: SPOKEN, after: "sentences" },
  timestamps: { body: SPOKEN, query: { timestamps: "true" } },
  chunks: { body: SPOKEN, query: { frames: "chunks" } },
  canceled: { body: { text: `${SENTENCES} ${SENTENCES}`, ...QUICK }, cancelAfter: 1 },
  "after a canceled one": { body: { text: "Иә.", ...QUICK }, after: "canceled" },
  keyed: { body: { text: "Иә.", ...QUICK }, headers: { "Idempotency-Key": "{random}" } },
  "keyed again": {
    body: { text: "Иә.", ...QUICK },
    headers: { "Idempotency-Key": "{random}" },
    after: "keyed",
  },
  "no key": { credential: "none", body: SPOKEN },
  "wrong key": { credential: "wrong-header", body: SPOKEN },
  "not json": { body: "not JSON" },
  "no text": { body: { text: "" } },
  "long text": { body: { text: "а".repeat(5_001) } },
  "unknown voice": { body: { ...SPOKEN, voice: "unheard-of" } },
  "unknown model": { body: { ...SPOKEN, model: "unheard-of" } },
  "fast speech": { body: { ...SPOKEN, speed: 2.1 } },
  "unknown parameter": { body: SPOKEN, query: { unheard_of: "1" } },
} as const satisfies Readonly<Record<string, SpeechScript>>;

const SPEECH = "api-speech.md";
const ERRORS = "api-errors.md";
const STREAM = "Speak by sentences: `POST /v1/tts/stream`";
const FIELDS = "Speak: `POST /v1/tts`";

type Row = readonly [
  page: SpeechCase["page"],
  section: string,
  requirement: string,
  request: keyof typeof SPEECH_SCRIPTS,
  ...checks: SpeechCheck[],
];

/** Append only: the number identifies a case. */
const ROWS: readonly Row[] = [
  [SPEECH, STREAM, "the response has status 200", "sentences", { status: 200 }],
  [
    SPEECH,
    STREAM,
    "the response is application/octet-stream",
    "sentences",
    { header: "content-type", startsWith: "application/octet-stream" },
  ],
  [
    SPEECH,
    STREAM,
    "X-Svc-Stream is wav-frames-v1",
    "sentences",
    { header: "x-svc-stream", startsWith: "wav-frames-v1" },
  ],
  [
    SPEECH,
    STREAM,
    "each frame is a length followed by that many bytes",
    "sentences",
    { rule: "whole frames" },
  ],
  [SPEECH, STREAM, "each frame is a WAV: 24 kHz, 16-bit, mono", "sentences", { rule: "playable frames" }],
  [SPEECH, STREAM, "each sentence is one frame", "sentences", { rule: "a frame a sentence" }],
  [SPEECH, STREAM, "without timestamps a frame has no words", "sentences", { rule: "no words" }],
  [
    SPEECH,
    STREAM,
    "with timestamps=true each frame has words",
    "timestamps",
    { rule: "words in each frame" },
  ],
  [
    SPEECH,
    "Word times",
    "words have positions in the text and times in the frame",
    "timestamps",
    { rule: "words match the text" },
  ],
  [SPEECH, STREAM, "with frames=chunks the first frame is short", "chunks", { rule: "short first frame" }],
  [SPEECH, FIELDS, "the same request gives the same samples", "the same again", { sameBytesAs: "sentences" }],
  [SPEECH, STREAM, "a stream can be canceled after its first frame", "canceled", { rule: "canceled" }],
  [SPEECH, STREAM, "a canceled stream does not block the next one", "after a canceled one", { status: 200 }],
  [
    ERRORS,
    "Retries that are not charged twice",
    "a repeated Idempotency-Key gets the first response",
    "keyed again",
    { header: "idempotent-replayed", startsWith: "true" },
  ],
  [ERRORS, "Errors", "a request without a key gets 401", "no key", { refused: 401, error: "key_invalid" }],
  [ERRORS, "Errors", "an unknown key gets 401", "wrong key", { refused: 401, error: "key_invalid" }],
  [ERRORS, "Errors", "a body that is not JSON gets 400", "not json", { refused: 400, error: "" }],
  [SPEECH, FIELDS, "an empty text gets text_required", "no text", { refused: 400, error: "text_required" }],
  [
    SPEECH,
    FIELDS,
    "a text over 5,000 code points gets text_too_long",
    "long text",
    { refused: 400, error: "text_too_long" },
  ],
  [SPEECH, FIELDS, "an unknown voice gets 404", "unknown voice", { refused: 404, error: "unknown_voice" }],
  [SPEECH, FIELDS, "an unknown model gets 404", "unknown model", { refused: 404, error: "unknown_model" }],
  [SPEECH, FIELDS, "speed above 2 gets 400", "fast speech", { refused: 400, error: "", detail: "speed" }],
  [
    ERRORS,
    "Errors",
    "an unknown parameter gets unknown_parameter",
    "unknown parameter",
    { refused: 400, error: "unknown_parameter", detail: "unheard_of" },
  ],
];

/** Requirements on `/v1/tts/stream`. */
export const SPEECH_CASES: readonly SpeechCase[] = ROWS.map(
  ([page, section, requirement, request, ...checks], index) => ({
    ...{ id: `speech-${index + 1}`, page, section, requirement },
    ...{ request, checks },
  }),
);
