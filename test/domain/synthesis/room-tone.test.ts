import assert from "node:assert/strict";
import { test } from "node:test";
import { Fft } from "../../../core/domain/audio/fft.js";
import { ROOM_TONE_DB, RoomTone } from "../../../core/domain/synthesis/room-tone.js";
import { SPEECH_RATE_HZ } from "../../../core/domain/synthesis/speech-rate.js";
import * as fc from "../../support/properties.js";

const SECONDS = 10;
const tone = new RoomTone({ cutoffHz: 1_000, seed: 7 });
const SILENCE = new Int16Array(SECONDS * SPEECH_RATE_HZ);
/** -60 dB of full scale, the usual threshold for silence, also in our own measurements. */
const SILENT_BELOW = 32.768;

test("the tone has its level, below the silence threshold everywhere", () => {
  for (const cutoffHz of [50, 300, 1_000, 12_000]) {
    const heard = new RoomTone({ cutoffHz, seed: 1 }).under(SILENCE, 0);
    const power = heard.reduce((sum, sample) => sum + sample * sample, 0) / heard.length;
    const levelDb = 10 * Math.log10(power) - 20 * Math.log10(32_768);
    // Clipped peaks cost 0.1 dB, and the power of a finite noise table varies.
    assert.ok(Math.abs(levelDb - ROOM_TONE_DB) < 0.3, `${cutoffHz} Hz: ${levelDb.toFixed(2)} dB`);
    assert.ok(heard.every((sample) => Math.abs(sample) < SILENT_BELOW));
    const longestZero = String.fromCharCode(...heard.subarray(0, 60_000).map((s) => (s === 0 ? 1 : 2)));
    assert.ok(!longestZero.includes("\u0001".repeat(200)), `${cutoffHz} Hz: no stretch is digital silence`);
  }
});

test("the tone at a position does not depend on how the response is chunked", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 40_000 }), { maxLength: 6 }),
      fc.nat({ max: 200_000 }),
      (lengths, start) => {
        const pcm = Int16Array.from({ length: lengths.reduce((a, b) => a + b, 0) }, (_, i) => (i * 7) % 999);
        const whole = tone.under(pcm, start);
        let at = 0;
        for (const length of lengths) {
          const part = tone.under(pcm.subarray(at, at + length), start + at);
          assert.deepEqual(part, whole.subarray(at, at + length));
          at += length;
        }
      },
    ),
    { numRuns: 20 },
  );
});

test("speech keeps its level over the tone and is clipped at full scale", () => {
  const pcm = Int16Array.from({ length: 50_000 }, (_, i) => (i % 2 === 0 ? 32_767 : -32_768));
  const before = pcm.slice();
  const heard = tone.under(pcm, 0);
  assert.deepEqual(pcm, before, "samples that others hold");
  assert.ok(heard.every((sample, i) => Math.sign(sample) === Math.sign(pcm[i]!)));
  assert.ok(heard.some((sample, i) => sample !== pcm[i]));
});

test("seeds start at different places of the tone, which loops without a step", () => {
  const other = new RoomTone({ cutoffHz: 1_000, seed: 8 });
  assert.deepEqual(other.under(SILENCE, 0).subarray(0, 9_999), tone.under(SILENCE, 0).subarray(1, 10_000));
  const steps = (heard: Int16Array) =>
    heard.subarray(1).reduce((most, sample, i) => Math.max(most, Math.abs(sample - heard[i]!)), 0);
  const heard = tone.under(SILENCE, 0);
  const seam = 2 ** 15 - 7;
  assert.ok(steps(heard.subarray(seam - 2, seam + 2)) <= steps(heard.subarray(0, seam - 2)));
});

test("above its cut-off the tone falls off", () => {
  const size = 4_096;
  const fft = new Fft(size);
  const spectrum = new Float64Array(size / 2 + 1);
  const total = new Float64Array(size / 2 + 1);
  const heard = tone.under(SILENCE, 0);
  for (let start = 0; start + size <= heard.length; start += size) {
    fft.powerSpectrum(
      Float64Array.from(
        heard.subarray(start, start + size),
        (sample, i) => sample * (0.5 - 0.5 * Math.cos((2 * Math.PI * i) / size)),
      ),
      spectrum,
    );
    for (let bin = 0; bin < total.length; bin++) total[bin]! += spectrum[bin]!;
  }
  const powerAround = (hz: number) => {
    const bin = Math.round((hz / SPEECH_RATE_HZ) * size);
    return total.subarray(bin - 20, bin + 21).reduce((sum, value) => sum + value, 0);
  };
  const fallDb = 10 * Math.log10(powerAround(300) / powerAround(4_000));
  assert.ok(fallDb > 15 && fallDb < 30, `${fallDb.toFixed(1)} dB from 0.3 to 4 kHz`);
});
