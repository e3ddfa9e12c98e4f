import type { RecentFrames } from "./recent-frames.js";

/** The last speaker's level, which moves with a session to another worker. */
export interface SpeakerState {
  /** Level of the loud frames, see `levelDb`. */
  readonly levelDb: number;
  /** Frames since that speaker's last utterance ended. */
  readonly silentFrames: number;
}

/** A voice less than `fromDb` below the speaker is trusted; one more than `toDb` below is someone else's. */
interface DoubtRange {
  readonly fromDb: number;
  readonly toDb: number;
}

/** Where a voice starts: its first speech frame, and the sum of the probabilities before it. */
export interface Onset {
  readonly frame: number;
  readonly sumBefore: number;
}

/** A frame of the open utterance that was louder than all before it. */
interface LoudFrame extends Onset {
  readonly levelDb: number;
}

/** A frame of speech that may open an utterance. */
interface OpeningFrame {
  readonly levelDb: number;
  /** Highest level of the run of speech up to this frame. */
  readonly runDb: number;
  readonly frame: number;
}

/** All levels are in dB, all counts are frames of 40 ms. */
interface SpeakerRules {
  /**
   * Distance below the last speaker for a voice that would open an utterance; between the two it needs a
   * higher probability.
   */
  readonly opening: DoubtRange;
  /** A run of speech with a frame at most this far below the last speaker may continue with quieter ones. */
  readonly nearDb: number;
  /** Distance below an utterance's own loud frames for a voice that would extend it. */
  readonly holding: DoubtRange;
  /** Number of frames of which the loudest counts; vowels are closer together than that. */
  readonly recentFrames: number;
  /** A single frame this far below the utterance's loud frames is not part of it. */
  readonly faintDb: number;
  /** Speech this far below the loudest, with nothing louder before it, is not the speaker's. */
  readonly leadingDb: number;
  /** After this time without an utterance, the limit falls by `forgetDbPerFrame` a frame. */
  readonly forgetAfterFrames: number;
  readonly forgetDbPerFrame: number;
}

const SPEAKER_RULES: SpeakerRules = {
  opening: { fromDb: 9, toDb: 13 },
  nearDb: 11,
  holding: { fromDb: 11, toDb: 18 },
  recentFrames: 6,
  faintDb: 38,
  leadingDb: 16,
  forgetAfterFrames: 250,
  forgetDbPerFrame: 0.08,
};

/** A threshold that no probability reaches. */
const NEVER = 2;
/** How fast the level falls in quieter frames, 2.5 dB a second, to follow a speaker who becomes quieter. */
const FALL_DB = 0.1;
/**
 * How far the level may fall from one utterance to the next, so that a background voice cannot lower it step
 * by step.
 */
const MOST_FALL_DB = 2;

/**
 * Evidence from a speech frame that the speaker has stopped and a farther voice is talking, in nats. Speakers
 * come within 3 dB of their own loud frames several times a second, a voice 10 dB below does so in one frame
 * of fifty. Voice activity is below 0.8 in half of such a voice's frames, but in one of twenty of the
 * speaker's. Neighbouring frames are similar, so a voice must stay distant for about a second to reach
 * `DISTANT_DOUBT`.
 */
const DISTANCE = { evenDb: 7, natsPerDb: 0.5, least: -4, most: 0.9, sureFrom: 0.8, sure: -0.9, unsure: 2.5 };
/** Doubt at which a live session ends the utterance. */
export const DISTANT_DOUBT = 28;
/** Maximum number of frames between the speaker's last frame and an end by doubt: the longest pause. */
export const MOST_DOUBT_FRAMES = 150;
/** Steps between records. */
const RECORD_DB = 1;

/**
 * Tracks how loud a session's near speaker is. Voice activity remembers 1.5 s; a room where others keep
 * talking needs a longer memory. The level changes only when an utterance ends, so a session replayed from
 * there behaves the same.
 */
export class SpeakerLevel {
  readonly #rules: SpeakerRules;
  /** Level of the last utterances; null before the first. */
  #levelDb: number | null;
  /** End of the last utterance; negative if it came before frame 0, on another worker. */
  #lastEnd: number;
  /** Level of the open utterance's loud frames, and its maximum so far. */
  #utteranceDb = Number.NEGATIVE_INFINITY;
  #topDb = Number.NEGATIVE_INFINITY;
  /** Its last speech frame, and the level of that frame. */
  #lastFrame = 0;
  #lastDb = Number.NEGATIVE_INFINITY;
  /** Its first speech frame, then each frame louder than all before it. */
  #records: LoudFrame[] = [];
  #doubt = 0;
  /** One past its last frame without doubt, and the level of the loud frames since then. */
  #nearEnd = 0;
  #distantDb = Number.NEGATIVE_INFINITY;
  /** Levels of its last frames, indexed by frame number modulo the length. */
  readonly #recent: Float32Array;
  #recentAt = 0;

  constructor(speaker: SpeakerState | null = null, rules: SpeakerRules = SPEAKER_RULES) {
    this.#rules = rules;
    this.#recent = new Float32Array(rules.recentFrames);
    this.#levelDb = speaker?.levelDb ?? null;
    this.#lastEnd = -(speaker?.silentFrames ?? 0);
  }

  /** Returns the state to resume a session from this frame; null before the first utterance has ended. */
  at(frame: number): SpeakerState | null {
    if (this.#levelDb === null) return null;
    return { levelDb: this.#levelDb, silentFrames: frame - this.#lastEnd };
  }

  /**
   * Returns the speech probability that a frame of this level must reach to open an utterance; above 1 it
   * cannot open one.
   */
  toOpen(threshold: number, { levelDb, runDb, frame }: OpeningFrame): number {
    if (this.#levelDb === null) return threshold;
    const { forgetAfterFrames, forgetDbPerFrame, opening, nearDb } = this.#rules;
    const forgotten = Math.max(0, frame - this.#lastEnd - forgetAfterFrames) * forgetDbPerFrame;
    const limitDb = this.#levelDb - forgotten;
    // A near speaker's quiet consonant may follow the first vowel. Only peaks of farther voices are as loud.
    if (limitDb - runDb <= nearDb) return threshold;
    return needed(threshold, limitDb - levelDb, opening);
  }

  /**
   * Returns the speech probability that the next frame must reach to hold the utterance open; above 1 it
   * cannot.
   */
  toHold(threshold: number, levelDb: number): number {
    this.#recent[this.#recentAt++ % this.#recent.length] = levelDb;
    if (levelDb < this.#utteranceDb - this.#rules.faintDb) return NEVER;
    let loudest = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < this.#recent.length; i++) loudest = Math.max(loudest, this.#recent[i]!);
    return needed(threshold, this.#utteranceDb - loudest, this.#rules.holding);
  }

  /**
   * Evidence that only a voice farther away than the speaker is still talking, in nats; see `DISTANT_DOUBT`.
   */
  get doubt(): number {
    return this.#doubt;
  }

  /** One past the open utterance's last frame without doubt. */
  get nearEnd(): number {
    return this.#nearEnd;
  }

  /** Returns where the speaker starts in the open utterance, judged from the frames before `end`. */
  onsetBefore(end: number): Onset {
    const records = this.#records.filter(({ frame }) => frame < end);
    const loudDb = (records.at(-1)?.levelDb ?? 0) - this.#rules.leadingDb;
    return records.find(({ levelDb }) => levelDb >= loudDb) ?? this.#records[0]!;
  }

  /** Starts an utterance with this speech frame. */
  begin(frame: number, frames: RecentFrames): void {
    const levelDb = frames.level(frame);
    this.#utteranceDb = levelDb;
    this.#topDb = levelDb;
    this.#lastFrame = frame;
    this.#lastDb = levelDb;
    this.#recent.fill(levelDb);
    this.#records = [{ frame, sumBefore: frames.sumBefore(frame), levelDb: Number.NEGATIVE_INFINITY }];
    this.#doubt = 0;
    this.#nearEnd = frame + 1;
    this.#distantDb = Number.NEGATIVE_INFINITY;
  }

  /** Adds the utterance's next speech frame. */
  follow(frame: number, frames: RecentFrames): void {
    // Two frames in a row must be as loud: a bang is shorter. The level rises immediately, so it hardly
    // depends on where the utterance starts, which a session resumed in mid-word does not know.
    const levelDb = frames.level(frame);
    const pairDb = Math.min(levelDb, this.#lastDb);
    this.#utteranceDb = Math.max(this.#utteranceDb - FALL_DB, pairDb);
    this.#topDb = Math.max(this.#topDb, this.#utteranceDb);
    if (pairDb > this.#records.at(-1)!.levelDb + RECORD_DB) {
      const sumBefore = frames.sumBefore(this.#lastFrame);
      this.#records.push({ frame: this.#lastFrame, sumBefore, levelDb: pairDb });
    }
    this.#lastFrame = frame;
    this.#lastDb = levelDb;
    this.#doubt = Math.max(
      0,
      this.#doubt + distanceNats(this.#utteranceDb - levelDb, frames.probability(frame)),
    );
    const isNear = this.#doubt === 0;
    this.#nearEnd = isNear ? frame + 1 : Math.max(this.#nearEnd, frame - MOST_DOUBT_FRAMES);
    this.#distantDb = isNear ? Number.NEGATIVE_INFINITY : Math.max(this.#distantDb, pairDb);
  }

  /**
   * Ends the utterance.
   * @param isSpeaker true if it had letters, so it was not noise
   * @param endFrame exclusive
   * @param isDistant ended by doubt: the voice that continues counts from now on, because it may be the
   * speaker turned away
   */
  end(isSpeaker: boolean, endFrame: number, isDistant: boolean): void {
    if (isSpeaker) {
      const lowest = this.#levelDb === null ? Number.NEGATIVE_INFINITY : this.#levelDb - MOST_FALL_DB;
      this.#levelDb = isDistant ? this.#distantDb : Math.max(this.#topDb, lowest);
      this.#lastEnd = endFrame;
    }
    this.#utteranceDb = Number.NEGATIVE_INFINITY;
  }
}

/** Returns the probability that a voice needs at this distance below the speaker. */
function needed(threshold: number, belowDb: number, { fromDb, toDb }: DoubtRange): number {
  if (belowDb <= fromDb) return threshold;
  if (belowDb >= toDb) return NEVER;
  return threshold + ((1 - threshold) * (belowDb - fromDb)) / (toDb - fromDb);
}

/** Returns the evidence from one frame, see `DISTANCE`. */
function distanceNats(belowDb: number, probability: number): number {
  const { evenDb, natsPerDb, least, most, sureFrom, sure, unsure } = DISTANCE;
  const nats = Math.max(least, Math.min(most, natsPerDb * (belowDb - evenDb)));
  return nats + (probability >= sureFrom ? sure : unsure);
}
