import assert from "node:assert/strict";
import { toInt16 } from "../../core/domain/audio/pcm.js";
import { resample } from "../../core/domain/audio/resample.js";
import { parseWavHeader } from "../../core/domain/audio/wav.js";
import { decodeBlocks } from "../../core/domain/audio/wav-samples.js";
import { FREE_GRANT_CREDITS } from "../../core/domain/usage/tariff.js";
import { joined, RATE_HZ, silence, wavOf } from "./audio.js";
import { eventually } from "./eventually.js";
import type { SharedService } from "./shared-service.js";

/** Interleaves channels of equal length. */
export function interleaved(channels: readonly Int16Array[]): Int16Array {
  const [first] = channels;
  const samples = new Int16Array(first!.length * channels.length);
  for (const [channel, own] of channels.entries()) {
    assert.equal(own.length, first!.length);
    for (const [at, sample] of own.entries()) samples[at * channels.length + channel] = sample;
  }
  return samples;
}

/** Returns a 16-bit WAV of channels of equal length. */
export function wavOfChannels(channels: readonly Int16Array[], rateHz = RATE_HZ): Buffer {
  const samples = interleaved(channels);
  // `wavOf` writes the header, with silence in as many channels.
  const wav = Buffer.from(wavOf(new Int16Array(channels[0]!.length), rateHz, channels.length));
  wav.set(new Uint8Array(samples.buffer), wav.length - samples.byteLength);
  return wav;
}

/** Synthesizes a sentence, at 16 kHz. */
async function spoken({ url, key }: SharedService, text: string, voice: string): Promise<Int16Array> {
  const answer = await fetch(`${url}/v1/tts`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ text, voice, nfe: 16 }),
  });
  assert.equal(answer.status, 200);
  const wav = Buffer.from(await answer.arrayBuffer());
  const header = parseWavHeader(wav, wav.length)!;
  const samples = decodeBlocks(header, wav.subarray(header.dataOffset));
  return toInt16(resample(samples, { fromHz: header.sampleRateHz, toHz: RATE_HZ }));
}

/**
 * The speech of two people who take turns: the first, the second, and the first again. Each channel has one
 * voice, and ends with a second of silence.
 */
export async function twoSpeakers(service: SharedService): Promise<readonly [Int16Array, Int16Array]> {
  const [question, answer, thanks] = await Promise.all([
    spoken(service, "Кітапхана таңертең ашыла ма?", "dauren"),
    spoken(service, "Иә, кешке дейін жұмыс істейді.", "aigul"),
    spoken(service, "Рақмет, бүгін ауа райы жақсы.", "dauren"),
  ]);
  const pause = silence(1);
  const quiet = (samples: Int16Array) => new Int16Array(samples.length);
  return [
    joined(question, pause, quiet(answer), pause, thanks, pause),
    joined(quiet(question), pause, answer, pause, quiet(thanks), pause),
  ];
}

/** Waits until all work of a new customer is settled and has cost exactly `credits`. */
export async function charged({ url, key }: SharedService, credits: number): Promise<void> {
  let shown = "";
  const isCharged = async () => {
    const answer = await fetch(`${url}/v1/balance`, { headers: { authorization: `Bearer ${key}` } });
    shown = await answer.text();
    const { balance, held } = JSON.parse(shown) as { balance: number; held: number };
    return held === 0 && FREE_GRANT_CREDITS - balance === credits;
  };
  await eventually(`${credits} credits are charged`, isCharged).catch((error: unknown) => {
    throw new Error(`the balance is ${shown}`, { cause: error });
  });
}
