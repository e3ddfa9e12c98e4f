import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { concatenatePcm, toInt16 } from "../../core/domain/audio/pcm.js";
import { resample } from "../../core/domain/audio/resample.js";
import { WavSampleReader } from "../../core/domain/audio/wav-samples.js";
import { uniformRandom } from "../../core/domain/statistics/uniform-random.js";
import { normalizeRussian } from "../../core/domain/text/russian/normalize.js";
import type { ServiceProcess } from "./service-process.js";
import { SAMPLE_RATE_HZ, speak, speechOf } from "./spoken-stream.js";

/** Lines that are spoken one after another. */
export interface SpokenText {
  readonly lines: readonly string[];
  readonly pcm: Int16Array;
}

/** Synthesizes a line at 16 kHz; `nth` selects the voice. */
export type SpeakLine = (line: string, nth: number) => Promise<Int16Array>;

/** All shipped voices, used in turn. */
const KAZAKH_VOICES = ["aigul", "dauren", "saule", "timur"];
/** Variants of espeak-ng that the recogniser was not trained on. */
const RUSSIAN_VARIANTS = ["f4", "m7", "klatt4", "Andrea", "Hugo", "linda", "Michael", "quincy"];
const RUSSIAN_WORDS_PER_MINUTE = 150;
/**
 * Pauses between sentences: their median in seconds, the standard deviation of their logarithm, and bounds.
 * Conversational speakers pause for 0.3 to 1 s between sentences.
 */
const PAUSE = { median: 0.55, deviation: 0.45, least: 0.15, most: 1.6 };
const EDGE_SECONDS = 0.3;
const TURNS = [3, 2];

export function kazakhVoices(service: Pick<ServiceProcess, "url" | "key">): SpeakLine {
  return (text, nth) => speak(service, { text, voice: KAZAKH_VOICES[nth % KAZAKH_VOICES.length]! });
}

export const russianVoices: SpeakLine = async (line, nth) => {
  const voice = `ru+${RUSSIAN_VARIANTS[nth % RUSSIAN_VARIANTS.length]}`;
  // Spell out numbers as the service reads them, because espeak-ng does not inflect them.
  const { spoken } = normalizeRussian(line, { expand: true });
  const args = ["-v", voice, "-s", String(RUSSIAN_WORDS_PER_MINUTE), "--stdout", "--", spoken];
  const { stdout } = await promisify(execFile)("espeak-ng", args, { encoding: "buffer", maxBuffer: 1 << 26 });
  const reader = new WavSampleReader(stdout.length);
  const samples = reader.push(stdout);
  return toInt16(resample(samples, { fromHz: reader.header!.sampleRateHz, toHz: SAMPLE_RATE_HZ }));
};

/** Joins adjacent lines in groups of three and two, with pauses between sentences. */
export async function* spokenTexts(
  lines: readonly string[],
  say: SpeakLine,
  seed: number,
): AsyncGenerator<SpokenText> {
  const random = uniformRandom(seed);
  for (let at = 0, turn = 0; at < lines.length; turn++) {
    const group = lines.slice(at, at + TURNS[turn % TURNS.length]!);
    at += group.length;
    const parts: Int16Array[] = [silence(EDGE_SECONDS)];
    for (const line of group) {
      parts.push(speechOf(await say(line, turn)), silence(pauseOf(random)));
    }
    parts[parts.length - 1] = silence(EDGE_SECONDS);
    yield { lines: group, pcm: concatenatePcm(parts) };
  }
}

function pauseOf(random: () => number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const seconds = PAUSE.median * Math.exp(PAUSE.deviation * normal);
  return Math.min(PAUSE.most, Math.max(PAUSE.least, seconds));
}

function silence(seconds: number): Int16Array {
  return new Int16Array(Math.round(seconds * SAMPLE_RATE_HZ));
}
