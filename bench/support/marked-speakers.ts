import { toInt16 } from "../../core/domain/audio/pcm.js";

const RATE_HZ = 16_000;
/** Tones in Hz by which the tiny diarization package identifies speakers. */
const SPEAKER_TONES = [300, 900, 2_500] as const;
const TONE_LEVEL = 0.25;
const SPEECH_LEVEL = 0.3;
const PAUSE_SECONDS = 0.2;

/** A speaker's tone at a time, -1 to 1; its loudness changes, so that the features of the tone do too. */
export function speakerTone(speaker: number, second: number): number {
  const hz = SPEAKER_TONES[speaker]!;
  const loudness = 0.6 + 0.4 * Math.sin(2 * Math.PI * (hz / 250) * second);
  return TONE_LEVEL * loudness * Math.sin(2 * Math.PI * hz * second);
}

export interface PartWithSpeaker {
  readonly pcm: Int16Array;
  /** Index in `SPEAKER_TONES`. */
  readonly speaker: number;
}

/** Joins parts with pauses; speech is quiet and mixed with the tone of its speaker. */
export function spokenBy(parts: readonly PartWithSpeaker[]): Int16Array {
  const pause = PAUSE_SECONDS * RATE_HZ;
  const joined = new Float32Array(parts.reduce((sum, { pcm }) => sum + pcm.length + pause, pause));
  let at = pause;
  for (const { pcm, speaker } of parts) {
    for (const [i, sample] of pcm.entries())
      joined[at + i] = (SPEECH_LEVEL * sample) / 32_768 + speakerTone(speaker, i / RATE_HZ);
    at += pcm.length + pause;
  }
  return toInt16(joined);
}
