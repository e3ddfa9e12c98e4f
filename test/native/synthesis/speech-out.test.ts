import assert from "node:assert/strict";
import { test } from "node:test";
import { toFloat } from "../../../core/domain/audio/pcm.js";
import { SpeechOut } from "../../../native/synthesis/speech-out.js";
import { joined, tone } from "../../support/audio.js";

async function sent(rateHz: number, parts: readonly Float32Array[]): Promise<Int16Array> {
  const pcm: Int16Array[] = [];
  const out = new SpeechOut(rateHz, (samples) => {
    pcm.push(samples.slice());
    return Promise.resolve();
  });
  for (const part of parts) await out.write(part);
  await out.end(null);
  return joined(...pcm);
}

/** Counts upward zero crossings, except near the ends. */
function crossingsOf(pcm: Int16Array): number {
  let crossings = 0;
  for (let i = 1_000; i < pcm.length - 1_000; i++) if (pcm[i - 1]! < 0 && pcm[i]! >= 0) crossings++;
  return crossings;
}

for (const rateHz of [16_000, 22_050, 24_000]) {
  test(`a tone at ${rateHz} Hz keeps pitch, length and loudness at the common rate`, async () => {
    const samples = toFloat(tone(2, [440], rateHz));
    const pcm = await sent(rateHz, [samples]);
    assert.equal(pcm.length, 48_000);
    const perSecond = (crossingsOf(pcm) / (pcm.length - 2_000)) * 24_000;
    assert.ok(Math.abs(perSecond - 440) < 1, String(perSecond));
    const loudest = Math.max(...pcm.subarray(1_000, 47_000));
    assert.ok(Math.abs(loudest - 0.25 * 32_768) < 80, String(loudest));
  });

  test(`parts at ${rateHz} Hz join to the samples of the whole`, async () => {
    const samples = toFloat(tone(1.5, [300, 1_100], rateHz));
    const parts: Float32Array[] = [];
    for (let at = 0, size = 1; at < samples.length; at += size, size = (size * 7) % 5_003) {
      parts.push(samples.subarray(at, at + size));
    }
    assert.deepEqual(await sent(rateHz, parts), await sent(rateHz, [samples]));
  });
}

test("bounds count the samples that are sent", async () => {
  const out = new SpeechOut(16_000, () => Promise.resolve());
  await out.write(new Float32Array(1_600));
  assert.deepEqual(await out.end(Int32Array.of(0, 800, 1_600)), Int32Array.of(0, 1_200, 2_400));
});
