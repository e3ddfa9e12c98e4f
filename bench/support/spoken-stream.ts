import { toInt16 } from "../../core/domain/audio/pcm.js";
import { resample } from "../../core/domain/audio/resample.js";
import { WavSampleReader } from "../../core/domain/audio/wav-samples.js";
import type { ServiceProcess } from "./service-process.js";

export const SAMPLE_RATE_HZ = 16_000;
/** Silence between the sentences of a stream, long enough for each to get its final by the threshold. */
export const GAP_SAMPLES = 16_000;
const LEAD_SAMPLES = 8_000;
/** Parts quieter than this share of the peak (-26 dB) between an utterance's sentences are cut out. */
const JOINED_FLOOR = 0.05;
/** Samples quieter than this share of the sentence's peak (-40 dB) are not speech. */
const SPEECH_FLOOR = 0.01;

export const SENTENCES = [
  "Бүгін ауа райы жақсы болады, таулы жерлерде жаңбыр жауады.",
  "Қазақ тілі түркі тілдерінің қыпшақ тобына жатады.",
  "Кітапхана сағат тоғызда ашылып, кешке дейін жұмыс істейді.",
  "Біз ертең достарымызбен бірге көлге барамыз.",
];

/** A stream of spoken sentences whose starts and ends are measured in the audio. */
export interface SpokenStream {
  readonly pcm: Int16Array;
  readonly utterances: readonly { readonly onsetSample: number; readonly endSample: number }[];
}

/** Synthesizes the sentences with the service, with silence before, between and after them. */
export async function speakStream(
  service: ServiceProcess,
  sentences: readonly string[],
): Promise<SpokenStream> {
  const recordings: Int16Array[] = [];
  for (const text of sentences) recordings.push(await speak(service, { text }));
  return joinedStream(recordings, GAP_SAMPLES);
}

/** Like `speakStream`, but each utterance is several sentences without pauses that would end it. */
export async function speakLongStream(
  service: ServiceProcess,
  utterances: readonly (readonly string[])[],
): Promise<SpokenStream> {
  const recordings: Int16Array[] = [];
  for (const sentences of utterances) {
    const parts: Int16Array[] = [];
    for (const text of sentences) {
      const pcm = await speak(service, { text });
      const { onset, end } = speechBounds(pcm, JOINED_FLOOR);
      parts.push(pcm.subarray(onset, end));
    }
    recordings.push(joined(parts));
  }
  return joinedStream(recordings, GAP_SAMPLES);
}

function joined(parts: readonly Int16Array[]): Int16Array {
  const whole = new Int16Array(parts.reduce((sum, { length }) => sum + length, 0));
  let filled = 0;
  for (const part of parts) {
    whole.set(part, filled);
    filled += part.length;
  }
  return whole;
}

/** Speaks one sentence with the service, at 16 kHz. */
export async function speak(
  service: Pick<ServiceProcess, "url" | "key">,
  sentence: { readonly text: string; readonly voice?: string },
): Promise<Int16Array> {
  const answer = await fetch(`${service.url}/v1/tts`, {
    method: "POST",
    headers: { Authorization: `Bearer ${service.key}`, "Content-Type": "application/json" },
    body: JSON.stringify({ ...sentence, nfe: 16 }),
  });
  if (!answer.ok) throw new Error(`/v1/tts answered ${answer.status}: ${await answer.text()}`);
  return toSixteenKilohertz(new Uint8Array(await answer.arrayBuffer()));
}

/** Trims the quiet parts before and after the speech of a recording. */
export function speechOf(pcm: Int16Array): Int16Array {
  const { onset, end } = speechBounds(pcm);
  return pcm.subarray(onset, end);
}

/** Joins recordings at 16 kHz, with silence before, between and after them. */
export function joinedStream(recordings: readonly Int16Array[], gapSamples: number): SpokenStream {
  const parts: Int16Array[] = [new Int16Array(LEAD_SAMPLES)];
  const utterances: { onsetSample: number; endSample: number }[] = [];
  let offset = LEAD_SAMPLES;
  for (const pcm of recordings) {
    const { onset, end } = speechBounds(pcm);
    utterances.push({ onsetSample: offset + onset, endSample: offset + end });
    parts.push(pcm, new Int16Array(gapSamples));
    offset += pcm.length + gapSamples;
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

function speechBounds(pcm: Int16Array, floor = SPEECH_FLOOR): { onset: number; end: number } {
  const peak = pcm.reduce((highest, sample) => Math.max(highest, Math.abs(sample)), 0);
  const isLoud = (sample: number) => Math.abs(sample) > peak * floor;
  return { onset: pcm.findIndex(isLoud), end: pcm.findLastIndex(isLoud) + 1 };
}
