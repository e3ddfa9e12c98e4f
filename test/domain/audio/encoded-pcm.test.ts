import assert from "node:assert/strict";
import { test } from "node:test";
import { EncodedPcm } from "../../../core/domain/audio/encoded-pcm.js";
import { ALAW_SAMPLES, MULAW_SAMPLES, toAlaw, toMulaw } from "../../../core/domain/audio/g711.js";
import { toFloat, toInt16 } from "../../../core/domain/audio/pcm.js";
import { resample } from "../../../core/domain/audio/resample.js";
import { parseWavHeader, streamedWavHead } from "../../../core/domain/audio/wav.js";
import * as fc from "../../support/properties.js";

const EVERY_SAMPLE = Int16Array.from({ length: 65_536 }, (_, index) => index - 32_768);

for (const { name, encode, table } of [
  { name: "mu-law", encode: toMulaw, table: MULAW_SAMPLES },
  { name: "A-law", encode: toAlaw, table: ALAW_SAMPLES },
]) {
  test(`every byte of ${name} survives decoding and encoding`, () => {
    const decoded = Int16Array.from(table, (sample) => Math.round(sample * 32_768));
    const again = encode(decoded);
    // Mu-law has two encodings of silence, 0xff and 0x7f.
    const expected = Array.from({ length: 256 }, (_, byte) => (decoded[byte] === 0 ? again[byte]! : byte));
    assert.deepEqual([...again], expected);
  });

  test(`each sample in ${name} is within half a step of its value`, () => {
    const levels = [...new Set(table)].map((level) => level * 32_768).toSorted((a, b) => a - b);
    const indexOf = new Map(levels.map((level, index) => [level, index]));
    const bytes = encode(EVERY_SAMPLE);
    const [lowest, highest] = [levels[0]!, levels.at(-1)!];
    for (const [index, sample] of EVERY_SAMPLE.entries()) {
      const value = table[bytes[index]!]! * 32_768;
      const at = indexOf.get(value)!;
      if (sample <= lowest || sample >= highest) assert.equal(value, sample < 0 ? lowest : highest);
      else {
        const step = Math.max(levels[at + 1]! - value || 0, value - levels[at - 1]! || 0);
        assert.ok(Math.abs(value - sample) <= step / 2, `${sample} became ${value}`);
      }
    }
  });
}

test("G.711 values match the recommendation", () => {
  assert.deepEqual([...toMulaw(Int16Array.of(0, 32_124, -32_124, 1_000))], [0xff, 0x80, 0x00, 0xce]);
  assert.deepEqual([...toAlaw(Int16Array.of(8, 32_256, -32_256, 1_008))], [0xd5, 0xaa, 0x2a, 0xfa]);
});

test("speech gives the same bytes however it is chunked, in every format", () => {
  const pcm = Int16Array.from({ length: 4_800 }, (_, index) => 9_000 * Math.sin(index / 17));
  const cuts = fc.array(fc.nat({ max: pcm.length }), { maxLength: 12 });
  fc.assert(
    fc.property(
      cuts,
      fc.constantFrom("linear16", "mulaw", "alaw"),
      fc.constantFrom(8_000, 16_000, 24_000, 48_000),
      (at, format, toHz) => {
        const encoder = new EncodedPcm(format as "mulaw", 24_000, toHz);
        const parts: Uint8Array[] = [];
        let start = 0;
        for (const end of [...at.toSorted((a, b) => a - b), pcm.length]) {
          parts.push(encoder.push(pcm.subarray(start, end)));
          start = end;
        }
        parts.push(encoder.flush());
        const whole = toInt16(resample(toFloat(pcm), { fromHz: 24_000, toHz }));
        const expected =
          format === "mulaw"
            ? toMulaw(whole)
            : format === "alaw"
              ? toAlaw(whole)
              : new Uint8Array(whole.buffer);
        assert.deepEqual(Buffer.concat(parts), Buffer.from(expected));
      },
    ),
    { numRuns: 60 },
  );
});

test("a flushed encoder continues", () => {
  const encoder = new EncodedPcm("mulaw", 24_000, 8_000);
  const pcm = new Int16Array(2_400).fill(1_000);
  const sentence = () => Buffer.concat([encoder.push(pcm), encoder.flush()]);
  const first = sentence();
  assert.equal(first.length, 800);
  assert.deepEqual(sentence(), first);
});

test("the header of a stream says that the data lasts until its end", () => {
  for (const [format, name, bits] of [
    ["linear16", "pcm", 16],
    ["mulaw", "mulaw", 8],
    ["alaw", "alaw", 8],
  ] as const) {
    const head = streamedWavHead(format, 8_000, 2);
    assert.deepEqual(parseWavHeader(head), {
      ...{ format: name, channels: 2, sampleRateHz: 8_000, bitsPerSample: bits },
      ...{ blockBytes: bits / 4, dataOffset: 44, dataBytes: null },
    });
  }
});
