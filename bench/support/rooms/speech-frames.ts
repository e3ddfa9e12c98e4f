import { FRAME_SAMPLES } from "../../../core/domain/audio/frame.js";
import { toInt16 } from "../../../core/domain/audio/pcm.js";
import { groupBy } from "../../evaluate/group-by.js";
import { percent, table } from "../../evaluate/report.js";
import type { Hearer } from "./hearers.js";
import { addInto, gainTo, percentile, RATE_HZ, stepLevels } from "./levels.js";
import { pinkNoise } from "./signals.js";
import { keyboard } from "./sounds.js";
import { NEAR_LEVEL_DB, type NearClip } from "./speakers.js";

/** Probability from which a frame counts as speech. */
const SPEECH = 0.5;
/** Percentile of level above which frames are loud: voice activity should detect them in any noise. */
const LOUD_FROM_SHARE = 0.35;
const QUIET_GAIN = 1 / 50;
const TYPING_DB = 15;
/** Number of clips in one stream, with long pauses between them. */
const CLIPS_IN_STREAM = 4;
const PAUSE_SAMPLES = 3 * RATE_HZ;
/** Time for which voice activity may continue after speech, or start before it. */
const HELD_SAMPLES = 0.2 * RATE_HZ;
const EARLY_SAMPLES = 0.08 * RATE_HZ;

/** Share of frames that each network classifies as speech. */
export interface FrameRow {
  readonly sound: string;
  readonly frames: number;
  readonly speechShares: Readonly<Record<string, number>>;
}

/** A stream, and which of its frames count. */
interface Stream {
  readonly pcm: Int16Array;
  readonly counts: (frame: number) => boolean;
}

/** Measures frames of loud pink noise, of very soft speech, and of pauses in which someone types. */
export async function frameRows(near: readonly NearClip[], hearers: readonly Hearer[]): Promise<FrameRow[]> {
  const rows: FrameRow[] = [];
  for (const [who, clips] of groupBy(near, (clip) => clip.who)) {
    const streams = {
      "loud frames, pink noise at 0 dB": clips.map(inPinkNoise),
      "loud frames at 1/50 of the level": clips.map(veryQuiet),
      "pauses with typing": grouped(clips).map(withTyping),
    };
    for (const [sound, each] of Object.entries(streams)) {
      rows.push(await rowOf(`${who}: ${sound}`, each, hearers));
    }
  }
  return rows;
}

export function frameTable(rows: readonly FrameRow[]): string {
  const names = Object.keys(rows[0]?.speechShares ?? {});
  return table(
    ["frames taken for speech, %", "frames", ...names],
    rows.map(({ sound, frames, speechShares }) => [
      sound,
      String(frames),
      ...names.map((name) => percent(speechShares[name]!)),
    ]),
  );
}

async function rowOf(
  sound: string,
  streams: readonly Stream[],
  hearers: readonly Hearer[],
): Promise<FrameRow> {
  const speechShares: Record<string, number> = {};
  let frames = 0;
  for (const { name, frames: hear } of hearers) {
    frames = 0;
    let speech = 0;
    for (const { pcm, counts } of streams) {
      for (const [frame, probability] of (await hear(pcm)).entries()) {
        if (!counts(frame)) continue;
        frames++;
        if (probability >= SPEECH) speech++;
      }
    }
    speechShares[name] = speech / frames;
  }
  return { sound, frames, speechShares };
}

function inPinkNoise(clip: NearClip, seed: number): Stream {
  const clean = framed(clip);
  const noise = pinkNoise(clean.length, seed);
  const mix = clean.slice();
  addInto(mix, noise, 0, gainTo(NEAR_LEVEL_DB, noise));
  return { pcm: toInt16(mix), counts: loudFrames(clip, clean) };
}

function veryQuiet(clip: NearClip): Stream {
  const clean = framed(clip);
  return { pcm: toInt16(clean.map((sample) => sample * QUIET_GAIN)), counts: loudFrames(clip, clean) };
}

/** Makes a stream of speakers with long pauses between them, and typing in the pauses. */
function withTyping(clips: readonly NearClip[], seed: number): Stream {
  const length = clips.reduce((sum, { samples }) => sum + samples.length + PAUSE_SAMPLES, PAUSE_SAMPLES);
  const speech = new Float32Array(length);
  const isPause = new Uint8Array(length).fill(1);
  const isTyped = new Uint8Array(length).fill(1);
  let at = PAUSE_SAMPLES;
  for (const { samples, onset, end } of clips) {
    addInto(speech, samples, at);
    isTyped.fill(0, at + onset, at + end);
    isPause.fill(0, at + onset - EARLY_SAMPLES, at + end + HELD_SAMPLES);
    at += samples.length + PAUSE_SAMPLES;
  }
  const keys = keyboard(length, seed).map((sample, i) => sample * isTyped[i]!);
  addInto(speech, keys, 0, gainTo(NEAR_LEVEL_DB - TYPING_DB, keys));
  const counts = (frame: number) => {
    const first = frame * FRAME_SAMPLES;
    return isPause[first] === 1 && isPause[first + FRAME_SAMPLES - 1] === 1;
  };
  return { pcm: toInt16(speech), counts };
}

/** Returns a speaker with half a second of silence before and after. */
function framed({ samples }: NearClip): Float32Array {
  const clean = new Float32Array(samples.length + RATE_HZ);
  addInto(clean, samples, RATE_HZ / 2);
  return clean;
}

function loudFrames({ onset, end }: NearClip, clean: Float32Array): Stream["counts"] {
  const first = RATE_HZ / 2 + onset;
  const last = RATE_HZ / 2 + end;
  const levels = stepLevels(clean, FRAME_SAMPLES);
  const isInside = (frame: number) => frame * FRAME_SAMPLES >= first && (frame + 1) * FRAME_SAMPLES <= last;
  const floor = percentile(
    levels.filter((_, frame) => isInside(frame)),
    LOUD_FROM_SHARE,
  );
  return (frame) => isInside(frame) && levels[frame]! > floor;
}

function grouped(clips: readonly NearClip[]): NearClip[][] {
  return [...groupBy(clips.entries(), ([index]) => Math.floor(index / CLIPS_IN_STREAM)).values()].map(
    (group) => group.map(([, clip]) => clip),
  );
}
