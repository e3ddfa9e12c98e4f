import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { toInt16 } from "../../core/domain/audio/pcm.js";
import { resample } from "../../core/domain/audio/resample.js";
import { gaussianNoise } from "../../core/domain/synthesis/noise.js";
import { FlacStream } from "../../src/input/media/flac-stream.js";
import { temporaryFolder } from "./folders.js";

/** What live sessions listen at. */
export const RATE_HZ = 16_000;

const SPEECH_FOLDER = "test/fixtures/speech";

/** Samples of a recording under `test/fixtures/speech`, mono, 16-bit, at `rateHz`. */
export function speech(file: string, rateHz = RATE_HZ): Int16Array {
  const { samples, sampleRateHz } = recording(file);
  return toInt16(resample(samples, { fromHz: sampleRateHz, toHz: rateHz }));
}

/** A recording under `test/fixtures/speech`, which are FLAC files, as a WAVE file at the rate of its own. */
export function speechAsWav(file: string): Buffer {
  const { samples, sampleRateHz } = recording(file);
  const wav = wavOf(toInt16(samples), sampleRateHz, 1);
  return Buffer.from(wav.buffer, wav.byteOffset, wav.byteLength);
}

/** The same in a folder that goes away with the test's process; its path. */
export async function speechAsWavFile(file: string): Promise<string> {
  const path = join(await temporaryFolder(), `${basename(file, ".flac")}.wav`);
  await writeFile(path, speechAsWav(file));
  return path;
}

function recording(file: string): { samples: Float32Array; sampleRateHz: number } {
  const stream = new FlacStream();
  const frames = [...stream.push(readFileSync(`${SPEECH_FOLDER}/${file}`)), ...stream.end()];
  const samples = new Float32Array(frames.reduce((sum, { channelData }) => sum + channelData[0]!.length, 0));
  let length = 0;
  for (const { channelData } of frames) {
    samples.set(channelData[0]!, length);
    length += channelData[0]!.length;
  }
  return { samples, sampleRateHz: frames[0]!.sampleRate };
}

export function silence(seconds: number, rateHz = RATE_HZ): Int16Array {
  return new Int16Array(Math.round(seconds * rateHz));
}

/** A sum of sines of equal loudness, -12 dB of full scale together. */
export function tone(seconds: number, frequenciesHz: readonly number[], rateHz = RATE_HZ): Int16Array {
  return toInt16(
    Float32Array.from({ length: Math.round(seconds * rateHz) }, (_, n) => {
      const sum = frequenciesHz.reduce((total, hz) => total + Math.sin((2 * Math.PI * hz * n) / rateHz), 0);
      return (0.25 * sum) / frequenciesHz.length;
    }),
  );
}

/** White noise of a root mean square of `level`, full scale being 1. */
export function noise(seconds: number, level: number): Int16Array {
  return toInt16(gaussianNoise(Math.round(seconds * RATE_HZ), 1).map((sample) => sample * level));
}

export function joined(...parts: readonly Int16Array[]): Int16Array {
  const whole = new Int16Array(parts.reduce((total, part) => total + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

/** Cuts audio into pieces of these sizes, which are taken again from the first when they are used up. */
export function cut(pcm: Int16Array, sizes: readonly number[]): Int16Array[] {
  const pieces: Int16Array[] = [];
  for (let offset = 0; offset < pcm.length; ) {
    const size = Math.max(1, sizes[pieces.length % sizes.length]!);
    pieces.push(pcm.subarray(offset, offset + size));
    offset += size;
  }
  return pieces;
}

/** A PCM WAVE file of `channels` with the same samples in each. */
export function wavOf(pcm: Int16Array, rateHz: number, channels: number): Uint8Array {
  const dataBytes = pcm.length * channels * 2;
  const file = Buffer.alloc(44 + dataBytes);
  file.write("RIFF", 0);
  file.writeUInt32LE(36 + dataBytes, 4);
  file.write("WAVEfmt ", 8);
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(channels, 22);
  file.writeUInt32LE(rateHz, 24);
  file.writeUInt32LE(rateHz * channels * 2, 28);
  file.writeUInt16LE(channels * 2, 32);
  file.writeUInt16LE(16, 34);
  file.write("data", 36);
  file.writeUInt32LE(dataBytes, 40);
  for (let i = 0; i < pcm.length * channels; i++)
    file.writeInt16LE(pcm[Math.floor(i / channels)]!, 44 + i * 2);
  return file;
}
