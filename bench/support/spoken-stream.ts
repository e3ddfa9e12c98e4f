import { toInt16 } from "../../src/domain/audio/pcm.js";
import { resample } from "../../src/domain/audio/resample.js";
import { WavSampleReader } from "../../src/domain/audio/wav-samples.js";
import type { ServiceProcess } from "./service-process.js";

export const SAMPLE_RATE_HZ = 16_000;
/** Silence between the sentences of a stream, long enough for the final of each to come by its threshold. */
export const GAP_SAMPLES = 16_000;
const LEAD_SAMPLES = 8_000;
/** Samples quieter than this share of the sentence's peak (-40 dB) are not speech. */
const SPEECH_FLOOR = 0.01;

export const SENTENCES = [
  "Бүгін ауа райы жақсы болады, таулы жерлерде жаңбыр жауады.",
  "Қазақ тілі түркі тілдерінің қыпшақ тобына жатады.",
  "Кітапхана сағат тоғызда ашылып, кешке дейін жұмыс істейді.",
  "Біз ертең достарымызбен бірге көлге барамыз.",
];

/** A stream of spoken sentences; where each begins and ends is known from the audio itself. */
export interface SpokenStream {
  readonly pcm: Int16Array;
  readonly utterances: readonly { readonly onsetSample: number; readonly endSample: number }[];
}

/** Lets the service speak the sentences, with silence before, between and after them. */
export async function speakStream(
  service: ServiceProcess,
  sentences: readonly string[],
): Promise<SpokenStream> {
  const parts: Int16Array[] = [new Int16Array(LEAD_SAMPLES)];
  const utterances: { onsetSample: number; endSample: number }[] = [];
  let offset = LEAD_SAMPLES;
  for (const text of sentences) {
    const answer = await fetch(`${service.url}/v1/tts`, {
      method: "POST",
      headers: { Authorization: `Bearer ${service.key}`, "Content-Type": "application/json" },
      body: JSON.stringify({ text, nfe: 16 }),
    });
    if (!answer.ok) throw new Error(`/v1/tts answered ${answer.status}: ${await answer.text()}`);
    const pcm = toSixteenKilohertz(new Uint8Array(await answer.arrayBuffer()));
    const { onset, end } = speechBounds(pcm);
    utterances.push({ onsetSample: offset + onset, endSample: offset + end });
    parts.push(pcm, new Int16Array(GAP_SAMPLES));
    offset += pcm.length + GAP_SAMPLES;
  }
  const whole = new Int16Array(offset);
  let filled = 0;
  for (const part of parts) {
    whole.set(part, filled);
    filled += part.length;
  }
  return { pcm: whole, utterances };
}

function toSixteenKilohertz(wav: Uint8Array): Int16Array {
  const samples = new WavSampleReader(wav.length).push(wav);
  return toInt16(resample(samples, { fromHz: 24_000, toHz: SAMPLE_RATE_HZ }));
}

function speechBounds(pcm: Int16Array): { onset: number; end: number } {
  const peak = pcm.reduce((highest, sample) => Math.max(highest, Math.abs(sample)), 0);
  const isLoud = (sample: number) => Math.abs(sample) > peak * SPEECH_FLOOR;
  return { onset: pcm.findIndex(isLoud), end: pcm.findLastIndex(isLoud) + 1 };
}
