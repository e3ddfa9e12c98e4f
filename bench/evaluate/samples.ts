import { readFile } from "node:fs/promises";
import { resample } from "../../core/domain/audio/resample.js";
import { WavSampleReader } from "../../core/domain/audio/wav-samples.js";
import { FlacStream } from "../../src/input/media/flac-stream.js";

/**
 * Reads a WAVE or single-channel FLAC file as mono samples at the wanted rate, `[samples]`, -1 to 1.
 */
export async function readSamples(path: string, toHz: number): Promise<Float32Array> {
  const bytes = await readFile(path);
  const { samples, fromHz } = path.endsWith(".flac") ? fromFlac(bytes) : fromWav(bytes);
  return resample(samples, { fromHz, toHz });
}

function fromWav(bytes: Uint8Array): { samples: Float32Array; fromHz: number } {
  const reader = new WavSampleReader(bytes.length);
  const samples = reader.push(bytes);
  reader.end();
  return { samples, fromHz: reader.header!.sampleRateHz };
}

function fromFlac(bytes: Uint8Array): { samples: Float32Array; fromHz: number } {
  const stream = new FlacStream();
  const frames = [...stream.push(bytes), ...stream.end()];
  const samples = Float32Array.from(frames.flatMap(({ channelData }) => [...channelData[0]!]));
  return { samples, fromHz: frames[0]!.sampleRate };
}
