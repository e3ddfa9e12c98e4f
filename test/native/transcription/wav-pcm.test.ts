import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { toFloat } from "../../../core/domain/audio/pcm.js";
import { openWav, WavAudio } from "../../../native/transcription/file-audio.js";
import { joined, noise, silence, wavOf } from "../../support/audio.js";
import { temporaryFolder } from "../../support/folders.js";

const PCM = joined(silence(0.1), noise(0.5, 0.4), Int16Array.of(-32_768, 32_767, 1));

test("samples read as bytes equal those read as numbers, at any rate, even beyond the end", async () => {
  for (const [rateHz, channels] of [
    [16_000, 1],
    [16_000, 2],
    [24_000, 1],
  ] as const) {
    const path = join(await temporaryFolder(), "noise.wav");
    await writeFile(path, wavOf(PCM, rateHz, channels));
    const audio = await WavAudio.open(await openWav(path), 16_000);
    for (const [start, end] of [
      [0, 10],
      [777, 5_003],
      [0, audio.sampleCount],
      [audio.sampleCount - 3, audio.sampleCount + 9],
    ] as const) {
      const bytes = await audio.readPcm({ start, end });
      const samples = new Int16Array(bytes.slice().buffer);
      assert.deepEqual(
        toFloat(samples),
        await audio.read({ start, end }),
        `${rateHz} Hz, ${start} to ${end}`,
      );
    }
    await audio.close();
  }
});
