import { toInt16 } from "../../../core/domain/audio/pcm.js";
import { gaussianNoise, seedOf } from "../../../core/domain/synthesis/noise.js";
import { type Beds, hasTalk, type Room } from "./beds.js";
import type { Truth } from "./judge.js";
import { addInto, gainTo, RATE_HZ, STEP_SAMPLES } from "./levels.js";
import { NEAR_LEVEL_DB, type NearClip, spread } from "./speakers.js";

const BEFORE_SAMPLES = 0.75 * RATE_HZ;
const AFTER_SAMPLES = 2 * RATE_HZ;
/** Time after the speaker in which voices in the background may open utterances. */
const AFTERMATH_SECONDS = 10;
const AFTERMATH_DB = 20;
/** Number of speakers of each kind in those takes. */
const AFTERMATH_CLIPS = 8;
/** Level of the microphone's hiss in every room, below the speaker. */
const HISS_DB = 50;
/** Level of a background alone, below that of an absent speaker. */
const ALONE_DB = { noise: 10, talk: 20 };
const HISS_GAIN = 10 ** ((NEAR_LEVEL_DB - HISS_DB) / 20);
const HISS = gaussianNoise(30 * RATE_HZ, 1);

/** Results that a take contributes to. */
type Purpose = "cell" | "aftermath" | "alone";

/** A recording to be mixed: a speaker in a room, or the room alone. */
export interface Take {
  readonly purpose: Purpose;
  readonly room: Room;
  /** Level below the speaker; null in a quiet room. */
  readonly levelDb: number | null;
  readonly near: NearClip | null;
  readonly samples: number;
}

/** A take as the microphone records it, and when its speaker actually speaks. */
export interface MixedTake {
  readonly pcm: Int16Array;
  readonly truth: Truth;
}

/** Lists every speaker in every room at every level. */
export function cellTakes(rooms: readonly Room[], near: readonly NearClip[]): Take[] {
  return rooms.flatMap((room) =>
    levelsOf(room).flatMap((levelDb) =>
      near.map((clip): Take => ({ purpose: "cell", room, levelDb, near: clip, samples: lengthOf(clip) })),
    ),
  );
}

/** Lists speakers followed by ten seconds of voices in the background. */
export function aftermathTakes(rooms: readonly Room[], near: readonly NearClip[]): Take[] {
  const clips = (["people", "voices"] as const).flatMap((who) =>
    spread(
      near.filter((clip) => clip.who === who),
      AFTERMATH_CLIPS,
    ),
  );
  return rooms.filter(hasTalk).flatMap((room) =>
    clips.map((clip): Take => {
      const samples = lengthOf(clip) - AFTER_SAMPLES + AFTERMATH_SECONDS * RATE_HZ;
      return { purpose: "aftermath", room, levelDb: AFTERMATH_DB, near: clip, samples };
    }),
  );
}

/** Lists every room without a speaker, `minutes` in total. */
export function aloneTakes(rooms: readonly Room[], minutes: number): Take[] {
  const samples = Math.round((minutes * 60 * RATE_HZ) / rooms.length);
  return rooms.map((room): Take => {
    const levelDb = room.levelsDb.length === 0 ? null : ALONE_DB[hasTalk(room) ? "talk" : "noise"];
    return { purpose: "alone", room, levelDb, near: null, samples };
  });
}

/** Mixes a take. Mixing is repeatable, and a room's background differs between levels only in gain. */
export function mixTake(take: Take, beds: Beds): MixedTake {
  const { room, levelDb, near, samples, purpose } = take;
  const seed = seedOf(`${purpose} ${room.name} ${near?.speaker} ${near?.text}`);
  const mix = new Float32Array(samples);
  if (near !== null) addInto(mix, near.samples, BEFORE_SAMPLES - near.onset);
  if (levelDb !== null) {
    const bed = beds.bed(room, near, samples, seed);
    addInto(mix, bed, 0, gainTo(NEAR_LEVEL_DB - levelDb, bed));
  }
  for (let i = 0; i < mix.length; i++) mix[i]! += HISS_GAIN * HISS[(seed + i) % HISS.length]!;
  return { pcm: toInt16(mix), truth: truthOf(near, samples) };
}

function truthOf(near: NearClip | null, samples: number): Truth {
  const steps = new Uint8Array(Math.floor(samples / STEP_SAMPLES));
  if (near === null) return { steps, onset: 0, end: 0 };
  steps.set(near.steps, BEFORE_SAMPLES / STEP_SAMPLES);
  return { steps, onset: BEFORE_SAMPLES, end: BEFORE_SAMPLES + near.end - near.onset };
}

function lengthOf({ onset, end }: NearClip): number {
  return BEFORE_SAMPLES + end - onset + AFTER_SAMPLES;
}

function levelsOf({ levelsDb }: Room): readonly (number | null)[] {
  return levelsDb.length === 0 ? [null] : levelsDb;
}
