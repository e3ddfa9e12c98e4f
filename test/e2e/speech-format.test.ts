import assert from "node:assert/strict";
import { before, test } from "node:test";
import { EncodedPcm } from "../../core/domain/audio/encoded-pcm.js";
import type { StreamedFormat } from "../../core/domain/audio/streamed-pcm.js";
import { parseWavHeader } from "../../core/domain/audio/wav.js";
import type { TimedSpeech } from "../../core/protocol/timed-speech.js";
import { takeWords, WavFrameReader } from "../../core/protocol/wav-frames.js";
import { type SharedService, sharedService } from "../support/shared-service.js";

/** One sentence that gives an odd number of samples in G.711. */
const TEXT = "Қош келдіңіз, қандай көмек керек?";

let service: SharedService;
/** The speech as the voice produces it: 16-bit at 24 kHz. */
let voice: Int16Array;

before(async () => {
  service = await sharedService();
  const { samples } = await wavOf("/v1/tts");
  voice = new Int16Array(Uint8Array.from(samples).buffer);
});

function speak(path: string): Promise<Response> {
  return fetch(service.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}` },
    body: JSON.stringify({ text: TEXT, voice: "aigul", nfe: 8 }),
  });
}

async function wavOf(path: string) {
  const answer = await speak(path);
  assert.equal(answer.status, 200, await answer.clone().text());
  assert.equal(answer.headers.get("content-type"), "audio/wav");
  const bytes = Buffer.from(await answer.arrayBuffer());
  return { answer, bytes, ...parsed(bytes) };
}

function parsed(wav: Uint8Array) {
  const header = parseWavHeader(wav, wav.length)!;
  const { dataOffset, dataBytes } = header;
  return { header, samples: wav.subarray(dataOffset, dataOffset + dataBytes!) };
}

async function framesOf(path: string) {
  const frames = new WavFrameReader().push(Buffer.from(await (await speak(path)).arrayBuffer()));
  return frames.map((frame) => {
    const { wav, words } = takeWords(frame)!;
    return { ...parsed(wav), words };
  });
}

function expected(encoding: StreamedFormat, sampleRateHz: number, pcm = voice): Buffer {
  const encoder = new EncodedPcm(encoding, 24_000, sampleRateHz);
  return Buffer.concat([encoder.push(pcm), encoder.flush()]);
}

test("/v1/tts responds in the requested encoding and sample rate, at the same price", async () => {
  for (const [query, encoding, sampleRateHz, format] of [
    ["encoding=mulaw", "mulaw", 8_000, "mulaw"],
    ["encoding=alaw&sample_rate=16000", "alaw", 16_000, "alaw"],
    ["sample_rate=8000", "linear16", 8_000, "pcm"],
    ["encoding=linear16", "linear16", 24_000, "pcm"],
    ["sample_rate=48000", "linear16", 48_000, "pcm"],
  ] as const) {
    const { answer, bytes, header, samples } = await wavOf(`/v1/tts?${query}`);
    assert.equal(header.format, format, query);
    assert.equal(header.sampleRateHz, sampleRateHz);
    assert.deepEqual(Buffer.from(samples), expected(encoding, sampleRateHz));
    // The sizes in a file are even and agree with each other.
    assert.equal(bytes.readUInt32LE(4) + 8, bytes.length);
    assert.equal(bytes.length % 2, 0);
    assert.equal(answer.headers.get("x-svc-credits"), String(Math.ceil(([...TEXT].length * 2) / 5)));
  }
});

test("frames and word times have the format too", async () => {
  for (const frames of ["sentences", "chunks"]) {
    const path = `/v1/tts/stream?timestamps=true&frames=${frames}`;
    const plain = await framesOf(path);
    // Chunks sound a little different from whole sentences.
    const pcm = Uint8Array.from(Buffer.concat(plain.map(({ samples }) => samples)));
    const coded = await framesOf(`${path}&encoding=mulaw`);
    assert.ok(coded.every(({ header }) => header.format === "mulaw" && header.sampleRateHz === 8_000));
    assert.deepEqual(
      Buffer.concat(coded.map(({ samples }) => samples)),
      expected("mulaw", 8_000, new Int16Array(pcm.buffer)),
    );
    assert.deepEqual(
      coded.flatMap(({ words }) => words.map(({ word }) => word)),
      plain.flatMap(({ words }) => words.map(({ word }) => word)),
    );
    assert.equal(coded.flatMap(({ words }) => words).length, TEXT.split(" ").length);
  }
  const timed = (await (await speak("/v1/tts?encoding=mulaw&timestamps=true")).json()) as TimedSpeech;
  const plain = (await (await speak("/v1/tts?timestamps=true")).json()) as TimedSpeech;
  assert.equal(timed.sample_rate, 8_000);
  assert.deepEqual(timed.words, plain.words);
  assert.equal(timed.duration, plain.duration);
});

test("unknown formats are rejected with a list of the known formats", async () => {
  for (const [query, detail] of [
    ["encoding=mp3", 'encoding must be one of linear16, mulaw, alaw, received "mp3"'],
    ["encoding=mulaw&sample_rate=24000", 'sample_rate of mulaw must be one of 8000, 16000, received "24000"'],
    [
      "sample_rate=44100",
      'sample_rate of linear16 must be one of 8000, 16000, 24000, 32000, 48000, received "44100"',
    ],
  ] as const) {
    for (const path of ["/v1/tts", "/v1/tts/stream"]) {
      const answer = await speak(`${path}?${query}`);
      assert.deepEqual([answer.status, await answer.json()], [400, { detail }]);
    }
  }
});
