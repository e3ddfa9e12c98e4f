import { readFile } from "node:fs/promises";
import { resample } from "../../src/domain/audio/resample.js";
import { WavSampleReader } from "../../src/domain/audio/wav-samples.js";

/** Mono samples of a WAVE file at the wanted rate; `[samples]`, -1 to 1. */
export async function readWav(path: string, toHz: number): Promise<Float32Array> {
  const bytes = await readFile(path);
  const reader = new WavSampleReader(bytes.length);
  const samples = reader.push(bytes);
  reader.end();
  return resample(samples, { fromHz: reader.header!.sampleRateHz, toHz });
}
