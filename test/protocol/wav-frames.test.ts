import assert from "node:assert/strict";
import { test } from "node:test";
import { concatenatePcm } from "../../core/domain/audio/pcm.js";
import { parseWavHeader, writeWav } from "../../core/domain/audio/wav.js";
import { takeWords, WavFrameReader, wavFrame } from "../../core/protocol/wav-frames.js";
import * as fc from "../support/properties.js";
import { encodeWavFrame, wavWithWords } from "../support/wav-frames.js";

test("frames do not depend on how the stream is chunked", () => {
  const files = fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 6 });
  fc.assert(
    fc.property(files, fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 }), (wavs, sizes) => {
      const stream = Buffer.concat(wavs.map(encodeWavFrame));
      const reader = new WavFrameReader();
      const read: Uint8Array[] = [];
      for (let start = 0, i = 0; start < stream.length; i++) {
        const end = start + sizes[i % sizes.length]!;
        read.push(...reader.push(stream.subarray(start, end)));
        start = end;
      }
      assert.deepEqual(read.map(String), wavs.map(String));
      assert.ok(reader.isAtBoundary);
    }),
  );
});

test("the length is big-endian and excludes itself", () => {
  assert.deepEqual([...encodeWavFrame(new Uint8Array(258).fill(7))].slice(0, 5), [0, 0, 1, 2, 7]);
});

test("an incomplete frame is not at a boundary", () => {
  const reader = new WavFrameReader();
  assert.deepEqual(reader.push(encodeWavFrame(new Uint8Array(9)).subarray(0, 12)), []);
  assert.equal(reader.isAtBoundary, false);
});

test("words are sent after the unchanged samples of a WAV", () => {
  const plain = writeWav(Int16Array.of(1, -2, 3), 24_000);
  // The bodies have even and odd lengths.
  for (const word of ["сөз", "сөз!", ""]) {
    const words = [{ word, start: 0, end: 0.1, from: 0, to: 3 }];
    const file = wavWithWords(plain, words);
    assert.equal(new DataView(file.buffer).getUint32(4, true), file.length - 8);
    assert.equal(file.length % 2, 0);
    const header = parseWavHeader(file, file.length);
    assert.deepEqual([header?.dataOffset, header?.dataBytes], [44, 6], "a reader of sound skips the chunk");
    assert.deepEqual(takeWords(file), { wav: plain, words });
  }
  assert.equal(takeWords(plain), null);
  assert.equal(takeWords(plain.subarray(0, 20)), null);
  assert.equal(takeWords(wavWithWords(plain, []).subarray(0, 60)), null, "a chunk that was cut is none");
});

test("a frame in parts has the same bytes as the whole", () => {
  const samples = fc.array(fc.int16Array({ maxLength: 20 }), { maxLength: 5 });
  const spoken = fc.option(fc.array(fc.string({ maxLength: 6 }), { maxLength: 3 }), { nil: undefined });
  fc.assert(
    fc.property(samples, spoken, (pieces, texts) => {
      const words = texts?.map((word) => ({ word, start: 0, end: 0.1, from: 0, to: 3 }));
      const wav = writeWav(concatenatePcm(pieces), 24_000);
      const whole = encodeWavFrame(words === undefined ? wav : wavWithWords(wav, words));
      const { bytes, parts } = wavFrame([...pieces], 24_000, words);
      assert.equal(bytes, whole.length);
      assert.deepEqual(Buffer.concat([...parts]), Buffer.from(whole));
    }),
  );
});

test("a frame in many small chunks is joined once", () => {
  const frame = encodeWavFrame(new Uint8Array(100_000).fill(5));
  const reader = new WavFrameReader();
  for (let at = 0; at < frame.length - 1; at++) {
    assert.deepEqual(reader.push(frame.subarray(at, at + 1)), []);
  }
  assert.deepEqual(reader.push(frame.subarray(-1)), [new Uint8Array(100_000).fill(5)]);
  assert.ok(reader.isAtBoundary);
});
