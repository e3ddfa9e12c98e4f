import assert from "node:assert/strict";
import { test } from "node:test";
import { LONGEST_WAV_HEADER_BYTES, parseWavHeader, writeWav } from "../../../core/domain/audio/wav.js";
import { WavSampleReader } from "../../../core/domain/audio/wav-samples.js";
import { ServiceError } from "../../../core/domain/errors.js";
import { speechAsWav } from "../../support/audio.js";
import * as fc from "../../support/properties.js";

interface WavParts {
  readonly code?: number;
  readonly channels?: number;
  readonly rateHz?: number;
  readonly bits?: number;
  readonly blockBytes?: number;
  readonly extra?: readonly number[];
  readonly before?: readonly number[];
  readonly dataSize?: number;
}

/** Builds a file by hand, so that it shares no code with the writer under test. */
function wavFile(data: readonly number[] | Uint8Array, parts: WavParts = {}): Uint8Array {
  const { code = 1, channels = 1, rateHz = 16_000, bits = 16, extra = [], before = [] } = parts;
  const blockBytes = parts.blockBytes ?? (channels * Math.ceil(bits / 8)) % 65_536;
  const format = [
    ...u16(code),
    ...u16(channels),
    ...u32(rateHz),
    ...u32(rateHz * blockBytes),
    ...u16(blockBytes),
    ...u16(bits),
  ];
  const chunks = [
    ...chunk("fmt ", [...format, ...extra]),
    ...before,
    ...ascii("data"),
    ...u32(parts.dataSize ?? data.length),
  ];
  const head = [...ascii("WAVE"), ...chunks];
  return Uint8Array.from([...ascii("RIFF"), ...u32(head.length + data.length), ...head, ...data]);
}

const ascii = (text: string) => [...text].map((letter) => letter.charCodeAt(0));
const u16 = (value: number) => [value & 255, (value >> 8) & 255];
const u32 = (value: number) => [...u16(value & 0xffff), ...u16(value >>> 16)];
const chunk = (id: string, body: readonly number[]) => [
  ...ascii(id),
  ...u32(body.length),
  ...body,
  ...(body.length % 2 ? [0] : []),
];
const extensible = (code: number, validBits: number) => [
  ...u16(22),
  ...u16(validBits),
  ...u32(0),
  ...u16(code),
  0,
  0,
  0,
  0,
  0x10,
  0,
  0x80,
  0,
  0,
  0xaa,
  0,
  0x38,
  0x9b,
  0x71,
];

function samplesOf(file: Uint8Array): number[] {
  const reader = new WavSampleReader();
  const samples = [...reader.push(file)];
  reader.end();
  return samples;
}

function refusal(file: Uint8Array): string {
  try {
    parseWavHeader(file, file.length);
  } catch (error) {
    assert.ok(error instanceof ServiceError);
    assert.equal(error.code, "AUDIO_UNREADABLE");
    return error.message;
  }
  return assert.fail("the file was accepted");
}

test("reads the header of a plain file", () => {
  assert.deepEqual(parseWavHeader(wavFile([1, 0, 2, 0]), 48), {
    format: "pcm",
    channels: 1,
    sampleRateHz: 16_000,
    bitsPerSample: 16,
    blockBytes: 2,
    dataOffset: 44,
    dataBytes: 4,
  });
});

test("chunks before the samples are skipped, odd ones with their padding", () => {
  const before = [...chunk("LIST", ascii("INFOx")), ...chunk("fact", u32(2))];
  const header = parseWavHeader(wavFile([1, 0], { before }));
  assert.equal(header?.dataOffset, 44 + 14 + 12);
});

test("an extensible header returns the format inside it", () => {
  const header = parseWavHeader(
    wavFile(new Uint8Array(8), { code: 0xfffe, bits: 32, extra: extensible(3, 32) }),
  );
  assert.equal(header?.format, "float");
  const header24 = parseWavHeader(
    wavFile(new Uint8Array(6), { code: 0xfffe, bits: 24, extra: extensible(1, 20) }),
  );
  assert.deepEqual([header24?.format, header24?.bitsPerSample], ["pcm", 24]);
});

test('sizes 0 and 0xFFFFFFFF mean "until the end of the file"', () => {
  for (const dataSize of [0, 0xffff_ffff]) {
    const file = wavFile([1, 0, 2, 0, 3], { dataSize });
    assert.equal(parseWavHeader(file)?.dataBytes, null);
    assert.equal(parseWavHeader(file, file.length)?.dataBytes, 4);
    assert.equal(samplesOf(file).length, 2);
  }
});

test("a truncated file gives its complete blocks", () => {
  const file = wavFile([1, 0, 2, 0, 3], { dataSize: 400 });
  assert.equal(parseWavHeader(file, file.length)?.dataBytes, 4);
  assert.equal(samplesOf(file).length, 2);
});

test("ignores bytes after the samples", () => {
  const file = wavFile([0, 64], {});
  assert.deepEqual(samplesOf(Uint8Array.from([...file, ...chunk("LIST", ascii("INFO"))])), [0.5]);
});

test("every stored form decodes to the same values", () => {
  const float32 = [...new Uint8Array(Float32Array.of(0.5, -0.25).buffer)];
  const float64 = [...new Uint8Array(Float64Array.of(0.5, -0.25).buffer)];
  assert.deepEqual(samplesOf(wavFile([192, 96], { bits: 8 })), [0.5, -0.25]);
  assert.deepEqual(samplesOf(wavFile([0, 64, 0, 0xe0])), [0.5, -0.25]);
  assert.deepEqual(samplesOf(wavFile([0, 0, 64, 0, 0, 0xe0], { bits: 24 })), [0.5, -0.25]);
  assert.deepEqual(samplesOf(wavFile([0, 0, 0, 64, 0, 0, 0, 0xe0], { bits: 32 })), [0.5, -0.25]);
  assert.deepEqual(samplesOf(wavFile(float32, { code: 3, bits: 32 })), [0.5, -0.25]);
  assert.deepEqual(samplesOf(wavFile(float64, { code: 3, bits: 64 })), [0.5, -0.25]);
});

test("A-law and mu-law decode to the values of G.711", () => {
  // First and last steps of both tables: +-8 and +-32256 (A-law), 0 and +-32124 (mu-law), of 32768.
  const alaw = samplesOf(wavFile([0xd5, 0x55, 0xaa, 0x2a], { code: 6, bits: 8 })).map(
    (value) => value * 32_768,
  );
  assert.deepEqual(alaw, [8, -8, 32_256, -32_256]);
  const mulaw = samplesOf(wavFile([0xff, 0x80, 0x00, 0xf0], { code: 7, bits: 8 })).map(
    (value) => value * 32_768,
  );
  assert.deepEqual(mulaw, [0, 32_124, -32_124, 120]);
});

test("channels are mixed to their mean", () => {
  assert.deepEqual(samplesOf(wavFile([0, 64, 0, 0, 0, 0xc0, 0, 0xc0], { channels: 2 })), [0.25, -0.5]);
});

test("clips floats beyond the range and decodes NaN as silence", () => {
  const bytes = [...new Uint8Array(Float32Array.of(3, Number.NaN, Number.NEGATIVE_INFINITY).buffer)];
  assert.deepEqual(samplesOf(wavFile(bytes, { code: 3, bits: 32 })), [1, 0, -1]);
});

test("errors name the rule and the value", () => {
  const other = (at: number, text: string) => {
    const file = wavFile([1, 0]);
    file.set(ascii(text), at);
    return file;
  };
  assert.match(refusal(other(0, "RIFX")), /little-endian.*RIFX/);
  assert.match(refusal(other(0, "RF64")), /32-bit.*RF64/);
  assert.match(refusal(other(0, "OggS")), /RIFF.*OggS/);
  assert.match(refusal(other(8, "AVI ")), /WAVE.*AVI/);
  assert.match(refusal(other(36, "datx")), /chunk data/);
  assert.match(refusal(other(12, "fmtx")), /fmt.*before.*data/);
  assert.match(refusal(wavFile([1, 0], { code: 0x55 })), /received 85/);
  assert.match(refusal(wavFile([1, 0], { channels: 33 })), /1 to 32, received 33/);
  assert.match(refusal(wavFile([1, 0], { channels: 0 })), /1 to 32, received 0/);
  assert.match(refusal(wavFile([1, 0], { rateHz: 3_999 })), /4000 to 384000, received 3999/);
  assert.match(refusal(wavFile([1, 0], { rateHz: 384_001 })), /received 384001/);
  assert.match(refusal(wavFile([1, 0], { bits: 40 })), /bitsPerSample of pcm.*received 40/);
  assert.match(refusal(wavFile([1, 0], { blockBytes: 4 })), /block must be 2 bytes.*received 4/);
  assert.match(refusal(wavFile([1, 0]).slice(0, 40)), /40 bytes/);
  assert.match(refusal(new Uint8Array(0)), /0 bytes/);
});

test("a reader at the end of the bytes reports what is missing", () => {
  const reader = new WavSampleReader();
  reader.push(wavFile([1, 0]).subarray(0, 30));
  assert.throws(() => reader.end(), /30 bytes/);
});

test("rejects a header that never ends", () => {
  const file = wavFile([], { before: chunk("LIST", []) });
  const endless = new Uint8Array(LONGEST_WAV_HEADER_BYTES);
  endless.set(file.subarray(0, 36));
  endless.set([...ascii("LIST"), ...u32(1_500_000_000)], 36);
  assert.throws(() => parseWavHeader(endless), /must begin within/);
});

test("hostile bytes never cause a crash", () => {
  const start = [...wavFile([1, 0, 2, 0])];
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat(44), (noise, at) => {
      const file = Uint8Array.from(start);
      file.set(noise.subarray(0, Math.max(0, file.length - at)), at);
      try {
        samplesOf(file);
      } catch (error) {
        assert.ok(error instanceof ServiceError, String(error));
      }
    }),
  );
});

test("samples do not depend on how the bytes were chunked", () => {
  const bytes = Uint8Array.from({ length: 999 }, (_, i) => (i * 37) & 255);
  const file = wavFile(bytes, { channels: 3, bits: 24, before: chunk("LIST", ascii("abc")) });
  const whole = samplesOf(file);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 80 }), (sizes) => {
      const reader = new WavSampleReader(file.length);
      const samples: number[] = [];
      let at = 0;
      for (const size of [...sizes, file.length]) {
        const part = file.slice(at, at + size);
        samples.push(...reader.push(part));
        // The owner of the borrowed bytes may reuse them.
        part.fill(0xee);
        at = Math.min(file.length, at + size);
      }
      assert.deepEqual(samples, whole);
      assert.equal(reader.sampleCount, whole.length);
    }),
  );
});

test("a written file reads back as the same samples", () => {
  fc.assert(
    fc.property(fc.int16Array({ maxLength: 200 }), (pcm) => {
      assert.deepEqual(
        samplesOf(writeWav(pcm, 24_000)).map((value) => value * 32_768),
        [...pcm],
      );
    }),
  );
  assert.deepEqual(writeWav(Int16Array.of(1), 24_000), wavFile([1, 0], { rateHz: 24_000 }));
});

test("opens a recorded file", () => {
  const file = speechAsWav("kazakh-speech-commands/example_1.flac");
  const reader = new WavSampleReader(file.length);
  const samples = reader.push(file);
  assert.ok(samples.length > 8_000);
  assert.ok(samples.some((value) => Math.abs(value) > 0.01));
});
