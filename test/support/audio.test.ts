import assert from "node:assert/strict";
import { test } from "node:test";
import { WavSampleReader } from "../../core/domain/audio/wav-samples.js";
import { cut, joined, noise, silence, speech, tone, wavOf } from "./audio.js";

test("pieces of any size join to the original", () => {
  const whole = Int16Array.from({ length: 100 }, (_, index) => index);
  for (const sizes of [[1], [7, 0, 3], [1_000]]) assert.deepEqual(joined(...cut(whole, sizes)), whole);
  assert.deepEqual(
    cut(whole, [60, 30]).map((piece) => piece.length),
    [60, 30, 10],
  );
});

test("a WAV with two channels reads back as its samples", () => {
  const pcm = Int16Array.of(1, -2, 32_767, -32_768);
  const reader = new WavSampleReader();
  const samples = reader.push(wavOf(pcm, 44_100, 2));
  assert.deepEqual([reader.header?.channels, reader.header?.sampleRateHz], [2, 44_100]);
  assert.deepEqual(
    [...samples],
    [...pcm].map((sample) => sample / 32_768),
  );
});

test("generated audio has the requested length and level", () => {
  assert.deepEqual(silence(0.5), new Int16Array(8_000));
  assert.equal(Math.max(...tone(0.1, [1_000])), 8_192);
  const level = Math.hypot(...noise(0.1, 0.1)) / Math.sqrt(1_600) / 32_768;
  // The level of 1,600 samples is accurate to 2 %.
  assert.ok(Math.abs(level / 0.1 - 1) < 0.1, `level ${level}`);
});

test("a recording is resampled to the requested rate", () => {
  const file = "asterisk-ru-core/conf-getconfno.flac";
  assert.equal(speech(file, 8_000).length * 2, speech(file).length);
});
