import { littleEndianBytes, toFloat, toInt16 } from "../../../core/domain/audio/pcm.js";
import { resample } from "../../../core/domain/audio/resample.js";
import { type Clip, RATE_HZ } from "./clips.js";
import { clientFrame } from "./frames.js";
import type { LiveWire } from "./live-wires.js";

/** Duration of the audio in one message. */
export const MESSAGE_MS = 40;
const MESSAGE_SAMPLES = (RATE_HZ * MESSAGE_MS) / 1_000;
const LEAD_MESSAGES = 13;
/** Silence after each sentence, long enough for the final to arrive. */
const GAP_SAMPLES = RATE_HZ;

/** A sentence of a session, with times in seconds since the first sample. */
export interface Utterance {
  readonly text: string | null;
  readonly onset: number;
  readonly end: number;
}

/** The audio of one session as finished frames, with the start and end of each sentence. */
export interface SpokenPlan {
  readonly frames: readonly Buffer[];
  readonly utterances: readonly Utterance[];
  readonly seconds: number;
}

/**
 * Encodes the clips once and returns plans for sessions. Each plan speaks for at least `seconds` in whole
 * sentences, with a second of silence after each. Successive plans start with different clips.
 */
export function spokenPlans(clips: readonly Clip[], wire: LiveWire, seconds: number): readonly SpokenPlan[] {
  const silence = framesOf(new Int16Array(LEAD_MESSAGES * MESSAGE_SAMPLES), wire);
  const spoken = clips.map((clip) => framesOf(paddedToMessages(clip.pcm), wire));
  return clips.map((_, first) => {
    const frames: Buffer[] = [...silence];
    const utterances: Utterance[] = [];
    for (let nth = first; utterances.length === 0 || secondsOf(frames) < seconds; nth++) {
      const { text, onsetSample, endSample } = clips[nth % clips.length]!;
      const start = secondsOf(frames);
      utterances.push({ text, onset: start + onsetSample / RATE_HZ, end: start + endSample / RATE_HZ });
      // Push frames one by one: a clip of minutes would exceed the limit on arguments of a call.
      for (const frame of spoken[nth % clips.length]!) frames.push(frame);
    }
    return { frames, utterances, seconds: secondsOf(frames) };
  });
}

function secondsOf(frames: readonly Buffer[]): number {
  return (frames.length * MESSAGE_MS) / 1_000;
}

function paddedToMessages(pcm: Int16Array): Int16Array {
  const padded = new Int16Array(Math.ceil((pcm.length + GAP_SAMPLES) / MESSAGE_SAMPLES) * MESSAGE_SAMPLES);
  padded.set(pcm);
  return padded;
}

function framesOf(pcm: Int16Array, wire: LiveWire): readonly Buffer[] {
  const toHz = wire.sampleRateHz;
  const audio = toHz === RATE_HZ ? pcm : toInt16(resample(toFloat(pcm), { fromHz: RATE_HZ, toHz }));
  const messageSamples = (toHz * MESSAGE_MS) / 1_000;
  return Array.from({ length: audio.length / messageSamples }, (_, nth) =>
    clientFrame(
      wire.audio(littleEndianBytes(audio.subarray(nth * messageSamples, (nth + 1) * messageSamples))),
    ),
  );
}
