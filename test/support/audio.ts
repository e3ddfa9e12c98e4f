import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { toInt16 } from "../../core/domain/audio/pcm.js";
import { resample } from "../../core/domain/audio/resample.js";
import { gaussianNoise } from "../../core/domain/synthesis/noise.js";
import { FlacStream } from "../../src/input/media/flac-stream.js";
import { temporaryFolder } from "./folders.js";

/** The sample rate of live sessions. */
export const RATE_HZ = 16_000;

const SPEECH_FOLDER = "test/fixtures/speech";

/** Returns a recording under `test/fixtures/speech` as mono 16-bit samples at `rateHz`. */
export function speech(file: string, rateHz = RATE_HZ): Int16Array {
  const { samples, sampleRateHz } = recording(file);
  return toInt16(resample(samples, { fromHz: sampleRateHz, toHz: rateHz }));
}

/** Returns a recording (a FLAC file) as a WAV at its own rate. */
export function speechAsWav(file: string): Buffer {
  const { samples, sampleRateHz } = recording(file);
  const wav = wavOf(toInt16(samples), sampleRateHz, 1);
  return Buffer.from(wav.buffer, wav.byteOffset, wav.byteLength);
}

/** Writes the WAV of a recording to a folder that is deleted with the test process, and returns its path. */
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

/** Returns a sum of sines of equal level, together at -12 dB of full scale. */
export function tone(seconds: number, frequenciesHz: readonly number[], rateHz = RATE_HZ): Int16Array {
  return toInt16(
    Float32Array.from({ length: Math.round(seconds * rateHz) }, (_, n) => {
      const sum = frequenciesHz.reduce((total, hz) => total + Math.sin((2 * Math.PI * hz * n) / rateHz), 0);
      return (0.25 * sum) / frequenciesHz.length;
    }),
  );
}

/** Returns white noise with a root mean square of `level`, relative to full scale. */
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

/** Cuts audio into pieces of these sizes, used in turn. */
export function cut(pcm: Int16Array, sizes: readonly number[]): Int16Array[] {
  const pieces: Int16Array[] = [];
  for (let offset = 0; offset < pcm.length; ) {
    const size = Math.max(1, sizes[pieces.length % sizes.length]!);
    pieces.push(pcm.subarray(offset, offset + size));
    offset += size;
  }
  return pieces;
}

/** Returns a PCM WAV with the same samples in each of `channels`. */
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
