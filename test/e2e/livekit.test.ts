// LiveKit's plugins against the service, with only their addresses changed; their stream classes are used
// directly, so no LiveKit server is needed.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { before, describe, test } from "node:test";
import { promisify } from "node:util";
import { initializeLogger, stt, tts } from "@livekit/agents";
import * as deepgram from "@livekit/agents-plugin-deepgram";
import * as openai from "@livekit/agents-plugin-openai";
import { AudioFrame } from "@livekit/rtc-node";
import { errorRates } from "../../bench/evaluate/error-rates.js";
import { toFloat, toInt16 } from "../../core/domain/audio/pcm.js";
import { resample } from "../../core/domain/audio/resample.js";
import { pace } from "../support/pace.js";
import { type SharedService, sharedService } from "../support/shared-service.js";

const TEXT = "Кітапхана таңертең ашылып, кешке дейін жұмыс істейді.";
const SPOKEN_HZ = 24_000;
const LIVE_HZ = 16_000;
/** The same limit as in the test of the service's own socket. */
const MAX_CHARACTER_ERROR_RATE = 0.09;
const { SpeechEventType } = stt;
/** A second try is not allowed, because its result would hide the first failure. */
const ONCE = { maxRetry: 0, retryIntervalMs: 0, timeoutMs: 60_000 };

const WHOLE_TEXT = `
  import { initializeLogger } from "@livekit/agents";
  import { TTS } from "@livekit/agents-plugin-deepgram";
  initializeLogger({ pretty: false, level: "silent" });
  const voice = new TTS({ apiKey: process.env.DAUYS_API_KEY, baseUrl: process.env.DAUYS_URL, model: "aigul" });
  voice.on("error", ({ error }) => console.error(error.message));
  await voice.synthesize("Сәлем", { maxRetry: 0, retryIntervalMs: 0, timeoutMs: 60000 }).collect();
`;

let service: SharedService;
let sockets: string;
/** Speech followed by the silence that ends it, at 24 kHz. */
let spoken: Int16Array;

before(async () => {
  initializeLogger({ pretty: false, level: "silent" });
  service = await sharedService();
  sockets = service.url.replace("http", "ws");
  const answer = await fetch(`${service.url}/v1/audio/speech`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}` },
    body: JSON.stringify({ model: "tts-1", input: TEXT, response_format: "pcm" }),
  });
  const pcm = new Int16Array(await answer.arrayBuffer());
  spoken = new Int16Array(pcm.length + SPOKEN_HZ);
  spoken.set(pcm);
});

function frameOf(samples: Int16Array, rateHz: number): AudioFrame {
  return new AudioFrame(samples.slice(), rateHz, 1, samples.length);
}

/**
 * Speaks into a stream, faster than real time, until a final arrives. Returns the types and texts of the
 * stream's events.
 */
async function heardBy(stream: stt.SpeechStream, rateHz: number) {
  const samples =
    rateHz === SPOKEN_HZ ? spoken : toInt16(resample(toFloat(spoken), { fromHz: SPOKEN_HZ, toHz: rateHz }));
  const speak = async () => {
    const size = rateHz / 50;
    for (let start = 0; start < samples.length; start += size) {
      stream.pushFrame(frameOf(samples.subarray(start, start + size), rateHz));
      await pace(2);
    }
  };
  const speaking = speak();
  const types: stt.SpeechEventType[] = [];
  const finals: string[] = [];
  for await (const { type, alternatives } of stream) {
    types.push(type);
    if (type === SpeechEventType.FINAL_TRANSCRIPT) finals.push(alternatives![0].text);
    if (type === SpeechEventType.END_OF_SPEECH && finals.length > 0) break;
    // The realtime plugin reports the end of speech before its text.
    if (type === SpeechEventType.FINAL_TRANSCRIPT && types.includes(SpeechEventType.END_OF_SPEECH)) break;
  }
  await speaking;
  stream.close();
  return { types, text: finals.join(" ") };
}

function assertText(text: string): void {
  const { characterErrorRate } = errorRates([{ reference: TEXT, hypothesis: text }]);
  assert.ok(characterErrorRate <= MAX_CHARACTER_ERROR_RATE, `${characterErrorRate}: ${text}`);
}

describe("LiveKit's plugins", { concurrency: 1 }, () => {
  test("Deepgram's STT streams with interim and readable final transcripts", async () => {
    const plugin = new deepgram.STT({
      apiKey: service.key,
      baseUrl: sockets,
      language: "kk",
      endpointing: 300,
    } as ConstructorParameters<typeof deepgram.STT>[0]);
    const { types, text } = await heardBy(plugin.stream({ connOptions: ONCE }), LIVE_HZ);
    assert.equal(types[0], SpeechEventType.START_OF_SPEECH);
    assert.ok(types.includes(SpeechEventType.INTERIM_TRANSCRIPT));
    assert.equal(types.at(-1), SpeechEventType.END_OF_SPEECH);
    assert.match(text, /^Кітапхана .*[а-яәіңғүұқөһ]/);
    assertText(text);
  });

  test("Deepgram's STT transcribes a whole recording over HTTP", async () => {
    const plugin = new deepgram.STT({
      apiKey: service.key,
      baseUrl: sockets,
      language: "kk",
    } as ConstructorParameters<typeof deepgram.STT>[0]);
    const { alternatives } = await plugin.recognize(frameOf(spoken, SPOKEN_HZ));
    assertText(alternatives![0].text);
    assert.ok(alternatives![0].words!.every(({ endTime }) => endTime! > 0));
  });

  test("Deepgram's STTv2 ends turns, with a preflight transcript before the end", async () => {
    const plugin = new deepgram.STTv2({
      apiKey: service.key,
      endpointUrl: `${sockets}/v2/listen`,
      eagerEotThreshold: 0.4,
      eotThreshold: 0.9,
    });
    const { types, text } = await heardBy(plugin.stream({ connOptions: ONCE }), LIVE_HZ);
    assert.equal(types[0], SpeechEventType.START_OF_SPEECH);
    assert.ok(types.includes(SpeechEventType.PREFLIGHT_TRANSCRIPT));
    assert.deepEqual(types.slice(-2), [SpeechEventType.FINAL_TRANSCRIPT, SpeechEventType.END_OF_SPEECH]);
    assertText(text);
  });

  test("OpenAI's STT streams with the service's turn detection", async () => {
    const plugin = new openai.STT({
      apiKey: service.key,
      baseURL: `${service.url}/v1`,
      model: "gpt-4o-transcribe",
      language: "kk",
    });
    const { types, text } = await heardBy(plugin.stream({ connOptions: ONCE }), SPOKEN_HZ);
    assert.equal(types[0], SpeechEventType.START_OF_SPEECH);
    assert.ok(types.includes(SpeechEventType.INTERIM_TRANSCRIPT));
    assertText(text);
  });

  test("OpenAI's STT transcribes a whole recording over HTTP", async () => {
    const plugin = new openai.STT({
      apiKey: service.key,
      baseURL: `${service.url}/v1`,
      model: "gpt-4o-transcribe",
      language: "kk",
      useRealtime: false,
    });
    const { alternatives } = await plugin.recognize(frameOf(spoken, SPOKEN_HZ));
    assertText(alternatives![0].text);
  });

  test("OpenAI's TTS speaks a text", async () => {
    const voice = new openai.TTS({
      apiKey: service.key,
      baseURL: `${service.url}/v1`,
      model: "tts-1",
      voice: "aigul" as openai.TTSVoices,
    });
    const { sampleRate, samplesPerChannel } = await voice.synthesize(TEXT, ONCE).collect();
    const seconds = samplesPerChannel / sampleRate;
    assert.equal(sampleRate, SPOKEN_HZ);
    assert.ok(seconds > 2 && seconds < 10, String(seconds));
  });

  test("Deepgram's TTS speaks text in pieces, and stops when it is closed", async () => {
    const voice = new deepgram.TTS({ apiKey: service.key, baseUrl: service.url, model: "aigul" });
    const whole = await secondsSpoken(voice.stream({ connOptions: ONCE }), Number.POSITIVE_INFINITY);
    assert.ok(whole > 2 && whole < 10, String(whole));
    const interrupted = await secondsSpoken(voice.stream({ connOptions: ONCE }), 0.3);
    assert.ok(interrupted < whole, `${interrupted} of ${whole}`);
  });

  test("Deepgram's TTS sends whole texts to port 443, whatever port its address has", async () => {
    // This runs in a separate process, because the plugin leaves the rejection unhandled.
    const { stderr } = await promisify(execFile)(
      process.execPath,
      ["--input-type=module", "-e", WHOLE_TEXT],
      {
        env: { ...process.env, DAUYS_URL: service.url, DAUYS_API_KEY: service.key },
      },
    ).catch((failed: { readonly stderr: string }) => failed);
    assert.match(stderr, /ECONNREFUSED 127\.0\.0\.1:443/);
  });
});

/**
 * Pushes the text word by word, closes the stream once this many seconds of audio have arrived, and returns
 * how many arrived in total.
 */
async function secondsSpoken(stream: tts.SynthesizeStream, atMost: number): Promise<number> {
  for (const word of TEXT.split(/(?= )/)) stream.pushText(word);
  stream.endInput();
  let seconds = 0;
  for await (const audio of stream) {
    if (audio === tts.SynthesizeStream.END_OF_STREAM) break;
    seconds += audio.frame.samplesPerChannel / audio.frame.sampleRate;
    if (seconds >= atMost) break;
  }
  stream.close();
  return seconds;
}
