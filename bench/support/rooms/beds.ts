import { uniformRandom } from "../../../core/domain/statistics/uniform-random.js";
import { gaussianNoise, seedOf } from "../../../core/domain/synthesis/noise.js";
import { type Distance, heardFrom } from "./far.js";
import { addInto, gainTo, RATE_HZ } from "./levels.js";
import { music } from "./music.js";
import { between, brownNoise, filtered, mixed, pinkNoise, type Random, shuffled } from "./signals.js";
import { dishes, fan, keyboard, rain, type Sound, street, wind } from "./sounds.js";
import type { Talker } from "./speakers.js";

const VOICE_LEVELS_DB = [25, 20, 15, 10];
const NOISE_LEVELS_DB = [20, 15, 10];

/** Several people talking, all at the same distance. */
interface Crowd {
  readonly voices: number;
  readonly distance: keyof typeof DISTANCES;
}

export interface Room {
  readonly name: string;
  /** Shown in tables and charts instead of the name. */
  readonly title?: string;
  /** Levels of the background's loud steps below the speaker's; empty for the quiet room. */
  readonly levelsDb: readonly number[];
  readonly crowd?: Crowd;
  readonly sound?: Sound;
  readonly isTelevision?: boolean;
}

const DISTANCES = {
  table: { ringSeconds: 0.35, directDb: 3 },
  hall: { ringSeconds: 0.9, directDb: -8 },
} satisfies Record<string, Distance>;

/** Every room of the bench, in the order of its tables. */
export const ROOMS: readonly Room[] = [
  { name: "quiet", levelsDb: [] },
  { name: "six", title: "six voices", ...voices(6, "table") },
  { name: "three", title: "three voices", ...voices(3, "table") },
  { name: "two", title: "two voices", ...voices(2, "table") },
  { name: "one", title: "one voice", ...voices(1, "table") },
  { name: "babble", title: "far voices", ...voices(6, "hall") },
  { name: "cafe", title: "café", ...voices(6, "hall"), ...noise(clatter) },
  { name: "television", levelsDb: NOISE_LEVELS_DB, isTelevision: true },
  { name: "music", ...noise(music) },
  { name: "fan", ...noise(fan) },
  { name: "street", ...noise(street) },
  { name: "keyboard", ...noise(keyboard) },
  { name: "wind", ...noise(wind) },
  { name: "rain", ...noise(rain) },
  { name: "pink", title: "pink noise", levelsDb: [...NOISE_LEVELS_DB, 5, 0], sound: pinkNoise },
];

function voices(count: number, distance: Crowd["distance"]): Pick<Room, "levelsDb" | "crowd"> {
  return { levelsDb: VOICE_LEVELS_DB, crowd: { voices: count, distance } };
}

function noise(sound: Sound): Pick<Room, "levelsDb" | "sound"> {
  return { levelsDb: NOISE_LEVELS_DB, sound };
}

/** Returns the title of a room, or its name. */
export function titleOf(name: string): string {
  return ROOMS.find((room) => room.name === name)?.title ?? name;
}

/** Returns whether someone other than the speaker talks in the room. */
export function hasTalk({ crowd, isTelevision }: Room): boolean {
  return crowd !== undefined || isTelevision === true;
}

/** Length of each prepared sound; backgrounds are cut from it. */
const SOUND_SECONDS = 90;
/** Maximum difference in level between a crowd's voices and their mean. */
const GAIN_DB = 4;
/** Level of a café's dishes relative to its voices. */
const DISHES_DB = -2;
const TELEVISION_MUSIC_DB = -9;
/** Pass band of a small loudspeaker, and the gain before it saturates. */
const LOUDSPEAKER = { lowHz: 280, highHz: 4_000, drive: 2.5 };

/** Backgrounds of rooms. The same seed always gives the same samples. */
export class Beds {
  readonly #talkers: readonly Talker[];
  readonly #far = new Map<string, Float32Array>();
  readonly #sounds = new Map<string, Float32Array>();
  readonly #televisions = new Map<string, Float32Array>();

  /** Does the slow work, so that making a bed later only takes cuts and sums. */
  constructor(talkers: readonly Talker[], rooms: readonly Room[]) {
    this.#talkers = talkers;
    for (const { name, crowd, sound, isTelevision } of rooms) {
      if (sound !== undefined) this.#sounds.set(name, sound(SOUND_SECONDS * RATE_HZ, seedOf(name)));
      for (const talker of talkers) {
        if (isTelevision === true) this.#televisions.set(talker.speaker, televisionOf(talker));
        if (crowd !== undefined) this.#talkFrom(talker, crowd.distance);
      }
    }
  }

  /**
   * Makes a background of `length` samples; the caller sets its level.
   * @param near the speaker at the microphone, who cannot also be in the background; null for none
   */
  bed(room: Room, near: Pick<Talker, "who" | "speaker"> | null, length: number, seed: number): Float32Array {
    const random = uniformRandom(seed);
    const others = shuffled(
      this.#talkers.filter(({ speaker }) => speaker !== near?.speaker),
      random,
    );
    // Prefer people in the background of a synthetic voice, and the reverse.
    others.sort((a, b) => Number(a.who === near?.who) - Number(b.who === near?.who));
    if (room.isTelevision === true) {
      return cut(this.#televisions.get(others[0]!.speaker)!, length, random);
    }
    const sound = room.sound === undefined ? null : this.#sound(room, length, random);
    if (room.crowd === undefined) return sound ?? new Float32Array(length);
    const crowd = this.#crowd(others.slice(0, room.crowd.voices), room.crowd, length, random);
    if (sound === null) return crowd;
    return mixed([crowd, gainTo(0, crowd)], [sound, gainTo(DISHES_DB, sound)]);
  }

  #crowd(talkers: readonly Talker[], { distance }: Crowd, length: number, random: Random): Float32Array {
    const crowd = new Float32Array(length);
    for (const talker of talkers) {
      const talk = cut(this.#talkFrom(talker, distance), length, random);
      addInto(crowd, talk, 0, 10 ** (between(random, -GAIN_DB, GAIN_DB) / 20));
    }
    return crowd;
  }

  #talkFrom({ speaker, talk }: Talker, distance: Crowd["distance"]): Float32Array {
    const key = `${speaker} ${distance}`;
    const known = this.#far.get(key) ?? heardFrom(talk, DISTANCES[distance], seedOf(key));
    this.#far.set(key, known);
    return known;
  }

  #sound({ name, sound }: Room, length: number, random: Random): Float32Array {
    const kept = this.#sounds.get(name);
    // Long pieces are generated, because there would be too few different places to cut them from.
    if (kept === undefined || length > kept.length / 2) return sound!(length, Math.floor(random() * 2 ** 31));
    const first = Math.floor(random() * (kept.length - length));
    return kept.slice(first, first + length);
  }
}

/** Makes a voice over music, through a small loudspeaker across the room. */
function televisionOf({ speaker, talk }: Talker): Float32Array {
  const band = music(talk.length, seedOf(speaker));
  const program = mixed([talk, gainTo(-12, talk)], [band, gainTo(-12 + TELEVISION_MUSIC_DB, band)]);
  const { lowHz, highHz, drive } = LOUDSPEAKER;
  const played = filtered(filtered(program, "high", lowHz), "low", highHz).map((x) => Math.tanh(drive * x));
  return heardFrom(played, DISTANCES.table, seedOf(speaker) + 1);
}

/** Makes dishes over the hum of machines. */
function clatter(length: number, seed: number): Float32Array {
  const hum = filtered(brownNoise(length, seed + 1), "low", 500);
  return mixed([dishes(length, seed), 1], [hum, 0.02], [gaussianNoise(length, seed + 2), 0.002]);
}

/** Cuts a piece at a random position; `samples` repeat endlessly. */
function cut(samples: Float32Array, length: number, random: Random): Float32Array {
  const first = Math.floor(random() * samples.length);
  const piece = new Float32Array(length);
  for (let at = -first; at < length; at += samples.length) addInto(piece, samples, at);
  return piece;
}
