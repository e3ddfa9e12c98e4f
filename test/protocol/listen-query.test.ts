import assert from "node:assert/strict";
import { test } from "node:test";
import { parseListenQuery } from "../../core/protocol/listen-query.js";
import { hearingIn } from "../support/catalog.js";

const MODELS = hearingIn("абдеийкмнорсту ");
const DEFAULTS = {
  model: MODELS.default,
  encoding: "linear16",
  sampleRateHz: 16_000,
  endOfUtteranceMs: 200,
  interimResults: false,
  vadEvents: false,
  utteranceEndMs: null,
  hotWords: [],
  saysEncoding: false,
  channelCount: null,
  reading: null,
  hasMarks: false,
  ignored: [],
};
const parsed = (query: string) => parseListenQuery(new URLSearchParams(query), MODELS);

for (const [query, changes] of [
  ["", {}],
  [
    "model=nova-3&language=ru&filler_words=true&punctuate=false&tag=x",
    { ignored: ["language", "filler_words", "tag"] },
  ],
  ["punctuate=true", { hasMarks: true, reading: { display: true, numerals: "none", redact: [] } }],
  ["smart_format=true", { hasMarks: true, reading: { display: true, numerals: "auto", redact: [] } }],
  ["numerals=true", { reading: { display: true, numerals: "auto", redact: [] } }],
  [
    "punctuate=true&numerals=1&redact=card&redact=phone,email&redact=false",
    { hasMarks: true, reading: { display: true, numerals: "auto", redact: ["phone", "card", "email"] } },
  ],
  ["redact=iin", { reading: { display: false, numerals: "none", redact: ["iin"] } }],
  ["model=svc-kk-ru-v2&language=multi&channels=1&diarize=false", {}],
  ["encoding=mulaw", { encoding: "mulaw", sampleRateHz: 8_000, saysEncoding: true }],
  ["encoding=alaw&sample_rate=16000", { encoding: "alaw", saysEncoding: true }],
  ["multichannel=true&channels=8", { channelCount: 8 }],
  ["multichannel=true", { channelCount: 1 }],
  ["multichannel=false&channels=1", {}],
  ["sample_rate=48000", { sampleRateHz: 48_000 }],
  ["endpointing=10", { endOfUtteranceMs: 100 }],
  ["endpointing=false", { endOfUtteranceMs: 2_000 }],
  ["endpointing=500&interim_results=true", { endOfUtteranceMs: 500, interimResults: true }],
  [
    "keyterm=Абай Марат&keyterm=Есенсай&keywords=Мади:2",
    {
      hotWords: [
        { text: "абай марат", characterScore: 1 },
        { text: "есенсай", characterScore: 1 },
        { text: "мади", characterScore: 2 },
      ],
    },
  ],
  ["vad_events=true&utterance_end_ms=1000", { vadEvents: true, utteranceEndMs: 1_000 }],
] as const) {
  test(`options of "${query}"`, () => assert.deepEqual(parsed(query), { ...DEFAULTS, ...changes }));
}

for (const [query, message] of [
  ["model=whisper", /model must be one of svc-kk-ru-v2, received "whisper"/],
  ["language=en", /language must be one of multi, kk, .*received "en"/],
  ["encoding=flac", /encoding must be one of linear16, mulaw, alaw, opus, ogg-opus, received "flac"/],
  ["sample_rate=4000", /sample_rate must be an integer from 8000 to 48000/],
  ["channels=2", /channels must be 1 without multichannel=true, received "2"/],
  [
    "encoding=opus&channels=2&multichannel=true",
    /encoding must be samples with multichannel=true, received "opus"/,
  ],
  ["channels=9&multichannel=true", /channels must be an integer from 1 to 8, received "9"/],
  ["endpointing=2001", /endpointing must be false or an integer up to 2000/],
  ["endpointing=-1", /endpointing must be/],
  ["utterance_end_ms=200", /utterance_end_ms must be an integer from 1000 to 5000/],
  ["keywords=марат:-5", /keywords must have scores of 0 to 5, received "-5"/],
  ["keyterm=Ғабит", /keyterm must be written in the model's letters, received "ғ"/],
  ["diarize=true", /diarize is not supported/],
  ["redact=pci&redact=false", /redact must be a list of phone, iin, card, email, received "pci"/],
  ["redact=phone&redact=ssn", /received "ssn"/],
  ["punctuate=always", /punctuate must be true, false, 1 or 0, received "always"/],
] as const) {
  test(`"${query}" is rejected`, () => assert.throws(() => parsed(query), message));
}
