import { readFile } from "node:fs/promises";
import { Resampler } from "../../src/domain/audio/resample.js";

const PCM = 1;

/** Samples of a 16-bit PCM WAV file, first channel, resampled; `[samples]`, -1 to 1. */
export async function readWav(path: string, toHz: number): Promise<Float32Array> {
  const bytes = await readFile(path);
  const { samples, rateHz } = parseWav(bytes, path);
  if (rateHz === toHz) return samples;
  const resampler = new Resampler({ fromHz: rateHz, toHz });
  const [body, tail] = [resampler.push(samples), resampler.flush()];
  const joined = new Float32Array(body.length + tail.length);
  joined.set(body);
  joined.set(tail, body.length);
  return joined;
}

function parseWav(bytes: Buffer, path: string): { samples: Float32Array; rateHz: number } {
  let channels = 0;
  let rateHz = 0;
  for (let at = 12; at + 8 <= bytes.length; ) {
    const name = bytes.toString("latin1", at, at + 4);
    const size = bytes.readUInt32LE(at + 4);
    const body = bytes.subarray(at + 8, at + 8 + size);
    if (name === "fmt ") {
      if (body.readUInt16LE(0) !== PCM || body.readUInt16LE(14) !== 16) {
        throw new Error(`Cannot read ${path}: it must be 16-bit PCM`);
      }
      channels = body.readUInt16LE(2);
      rateHz = body.readUInt32LE(4);
    } else if (name === "data" && channels > 0) {
      const samples = new Float32Array(Math.floor(body.length / (2 * channels)));
      for (let i = 0; i < samples.length; i++) samples[i] = body.readInt16LE(2 * channels * i) / 32_768;
      return { samples, rateHz };
    }
    at += 8 + size + (size & 1);
  }
  throw new Error(`Cannot read ${path}: no PCM in it`);
}
