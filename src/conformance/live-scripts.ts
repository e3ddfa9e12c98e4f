import type { LiveScript, LiveStep } from "./cases.js";

const CLOSE: LiveStep = { send: "text", text: '{"type":"close"}' };
const WHOLE_CLIP: LiveStep = { send: "clip", chunkBytes: 3_200 };
const HALF_A_SECOND: LiveStep = { send: "silence", seconds: 0.5, chunkBytes: 3_200 };
const ONE_SECOND: LiveStep = { send: "silence", seconds: 1, chunkBytes: 3_200 };

/** One utterance followed by a pause. */
const UTTERANCE: readonly LiveStep[] = [WHOLE_CLIP, HALF_A_SECOND, CLOSE];

/** A WAV header for mono 16-bit samples at 8 kHz. */
const WAV_AT_8_KHZ =
  "52494646ffffffff57415645666d74201000000001000100401f0000803e00000200100064617461ffffffff";
/** The first box of an MP4 file. */
const MP4 = "0000001c667479706d703432000000006d7034326d70343169736f6d";

/** Steps of each session, by name. Cases that use the same session share one run. */
export const LIVE_SCRIPTS = {
  "two utterances": {
    query: { words: "true", eou_ms: "300" },
    steps: [WHOLE_CLIP, ONE_SECOND, WHOLE_CLIP, ONE_SECOND, CLOSE],
    isPaced: true,
  },
  defaults: { steps: UTTERANCE },
  "odd chunks": { steps: [{ send: "clip", chunkBytes: 641 }, HALF_A_SECOND, CLOSE] },
  wav: { steps: [{ send: "clip", chunkBytes: 3_200, asWav: true }, HALF_A_SECOND, CLOSE] },
  "without partials": { query: { partials: "false" }, steps: UTTERANCE },
  "readable text": { query: { display: "true" }, steps: UTTERANCE },
  messagepack: { query: { encoding: "msgpack" }, steps: UTTERANCE },
  finalize: {
    steps: [WHOLE_CLIP, { send: "text", text: '{"type":"finalize"}' }, { await: { type: "final" } }, CLOSE],
  },
  "no audio": { steps: [CLOSE] },
  "audio after close": {
    steps: [HALF_A_SECOND, CLOSE, HALF_A_SECOND],
  },
  keepalive: { steps: [{ send: "text", text: '{"type":"keepalive"}' }, CLOSE] },
  "empty message": { steps: [{ send: "zeros", bytes: 0 }, CLOSE] },
  "unknown type": { steps: [{ send: "text", text: '{"type":"unheard_of"}' }, CLOSE] },
  "not json": {
    steps: [{ send: "text", text: "not JSON" }, { await: { type: "error" } }, CLOSE],
  },
  "long text": { steps: [{ send: "text", text: "x", repeat: 65_537 }, { await: { type: "error" } }, CLOSE] },
  "ten times not json": { steps: [{ send: "text", text: "not JSON", times: 10 }] },
  "large message": { steps: [{ send: "zeros", bytes: 1_048_578 }] },

  subprotocol: { credential: "subprotocol", steps: [CLOSE] },
  "token in query": { credential: "token-in-query", steps: [CLOSE] },
  "token in subprotocol": { credential: "token-in-subprotocol", steps: [CLOSE] },
  "used token": { credential: "used-token", steps: [] },
  "unknown token": { credential: "unknown-token", steps: [] },
  "no key": { credential: "none", steps: [] },
  "wrong key": { credential: "wrong-header", steps: [] },
  "wrong key in subprotocol": { credential: "wrong-subprotocol", steps: [] },
  "key in query": { credential: "none", query: { key: `sk-svc-${"0".repeat(48)}` }, steps: [] },

  "unknown parameter": { query: { unheard_of: "1" }, steps: [] },
  "unknown parameter in a browser": {
    credential: "subprotocol",
    query: { unheard_of: "1" },
    steps: [],
  },
  "unknown model": { credential: "subprotocol", query: { model: "unheard-of" }, steps: [] },
  "short silence": { query: { eou_ms: "99" }, steps: [] },
  "long silence": { query: { eou_ms: "2001" }, steps: [] },
  "unknown endpointing": { query: { endpointing: "later" }, steps: [] },
  "unknown encoding": { query: { encoding: "cbor" }, steps: [] },
  "high bonus": { query: { hotwords: "сәлем:6" }, steps: [] },
  "unknown flag": { query: { partials: "maybe" }, steps: [] },
  "unknown numerals": { query: { display: "true", numerals: "some" }, steps: [] },
  "unknown personal data": { query: { redact: "shoe-size" }, steps: [] },
  "unknown path": { path: "/v1/unheard-of", steps: [] },
  "mp4 file": { steps: [{ send: "bytes", hex: MP4 }] },
  "wav of another rate": { steps: [{ send: "bytes", hex: WAV_AT_8_KHZ }] },

  idle: { steps: [], isLong: true },
  "too fast": {
    steps: [1, 2, 3, 4].map(() => ({ send: "zeros", bytes: 960_000 }) as const),
    isLong: true,
    isLast: true,
  },
  flood: { steps: [{ send: "text", text: '{"type":"keepalive"}', times: 1_500 }], isLast: true },
} as const satisfies Readonly<Record<string, LiveScript>>;
