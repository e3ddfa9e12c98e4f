import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { parseWavHeader } from "../../../core/domain/audio/wav.js";
import { decodeBlocks } from "../../../core/domain/audio/wav-samples.js";
import { openDecoder } from "../../../src/input/media/file-decoder.js";
import { tone } from "../../support/audio.js";
import { wavOfChannels } from "../../support/channels.js";
import { temporaryFolder } from "../../support/folders.js";
import { SILENT } from "../../support/silent-log.js";
import { ffmpeg } from "./clips.js";

const NEVER = new AbortController().signal;
const RATE_HZ = 48_000;
/** Each channel has its own tone; the third is silent. */
const CHANNELS = [tone(0.5, [300], RATE_HZ), tone(0.5, [900], RATE_HZ), new Int16Array(RATE_HZ / 2)];
const ENDINGS = ["flac", "mp3", "ogg"] as const;

let folder: string;

before(async () => {
  folder = await temporaryFolder();
  const stereo = join(folder, "stereo.wav");
  const three = join(folder, "three.wav");
  await writeFile(stereo, wavOfChannels(CHANNELS.slice(0, 2), RATE_HZ));
  await writeFile(three, wavOfChannels(CHANNELS, RATE_HZ));
  await ffmpeg([
    ...["-i", stereo, "-i", three],
    ...["-map", "0:a", join(folder, "two.flac"), "-map", "1:a", join(folder, "three.flac")],
    ...["-map", "0:a", "-c:a", "libmp3lame", "-b:a", "192k", join(folder, "two.mp3")],
    ...["-map", "0:a", "-c:a", "libopus", "-b:a", "192k", join(folder, "two.ogg")],
  ]);
});

for (const [program, searchPath] of [
  ["ffmpeg", process.env["PATH"] ?? ""],
  ["packages alone", ""],
] as const) {
  describe(`with ${program}`, () => {
    const decoder = openDecoder({ searchPath, maxSeconds: 60, log: SILENT });
    let nth = 0;
    const decoded = async (name: string, channels: "mix" | "split") => {
      const target = join(folder, `${program}-${nth++}.wav`);
      const wav = await readFile(await decoder.decode(join(folder, name), target, NEVER, channels));
      const header = parseWavHeader(wav, wav.length)!;
      const blocks = wav.subarray(header.dataOffset, header.dataOffset + header.dataBytes!);
      return Array.from({ length: header.channels }, (_, channel) => decodeBlocks(header, blocks, channel));
    };

    test("a lossless file keeps the samples of every channel", async () => {
      for (const [name, count] of [
        ["two.flac", 2],
        ["three.flac", 3],
      ] as const) {
        const channels = await decoded(name, "split");
        assert.deepEqual(
          channels.map((own) => Int16Array.from(own, (sample) => sample * 32_768)),
          CHANNELS.slice(0, count),
        );
      }
    });

    for (const ending of ENDINGS) {
      test(`the channels of ${ending} stay apart, and are mixed only on request`, async () => {
        const [low, high, ...others] = await decoded(`two.${ending}`, "split");
        assert.equal(others.length, 0);
        assert.ok(share(low!, 300) > 0.95 && share(high!, 900) > 0.95);
        const [mixed, ...rest] = await decoded(`two.${ending}`, "mix");
        assert.equal(rest.length, 0);
        assert.equal(mixed!.length, low!.length);
        assert.ok(share(mixed!, 300) > 0.4 && share(mixed!, 900) > 0.4);
      });
    }
  });
}

/** Returns how much of the energy is at a frequency, from 0 to 1. */
function share(samples: Float32Array, frequencyHz: number): number {
  let [sine, cosine, energy] = [0, 0, 0];
  for (const [n, sample] of samples.entries()) {
    const angle = (2 * Math.PI * frequencyHz * n) / RATE_HZ;
    sine += sample * Math.sin(angle);
    cosine += sample * Math.cos(angle);
    energy += sample * sample;
  }
  return (2 * (sine * sine + cosine * cosine)) / (energy * samples.length);
}
