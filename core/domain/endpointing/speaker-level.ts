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

/** All levels are in dB, all counts are frames of 40 ms. */
interface SpeakerRules {
  /**
   * Distance below the last speaker for a voice that would open an utterance; between the two it needs a
   * higher probability.
   */
  readonly opening: DoubtRange;
  /** Distance below an utterance's own loud frames for a voice that would extend it. */
  readonly holding: DoubtRange;
  /** The loudest of this many frames counts; vowels are closer together than that. */
  readonly recentFrames: number;
  /** A single frame this far below the utterance's loud frames is not part of it. */
  readonly faintDb: number;
  /** After this time without an utterance the limit falls by this much a frame. */
  readonly forgetAfterFrames: number;
  readonly forgetDbPerFrame: number;
}

const SPEAKER_RULES: SpeakerRules = {
  opening: { fromDb: 9, toDb: 13 },
  holding: { fromDb: 11, toDb: 18 },
  recentFrames: 6,
  faintDb: 38,
  forgetAfterFrames: 250,
  forgetDbPerFrame: 0.08,
};

/** A threshold that no probability reaches. */
const NEVER = 2;
/** Fall of the level in a quieter frame, 2.5 dB a second, to follow a speaker who becomes quieter. */
const FALL_DB = 0.1;
/**
 * Largest fall of the level from one utterance to the next, so that a background voice cannot lower it step
 * by step.
 */
const MOST_FALL_DB = 2;

/**
 * Tracks the loudness of a session's near speaker. Voice activity remembers 1.5 s; a room where others keep
 * talking needs a longer memory. The level changes only when an utterance ends, so a session replayed from
 * there behaves the same.
 */
export class SpeakerLevel {
  readonly #rules: SpeakerRules;
  /** Level of the last utterances; null before the first. */
  #levelDb: number | null;
  /** End of the last utterance; negative if it came before frame 0, on another worker. */
  #lastEnd: number;
  /** Level of the open utterance's loud frames, and the highest it has been. */
  #utteranceDb = Number.NEGATIVE_INFINITY;
  #topDb = Number.NEGATIVE_INFINITY;
  /** Level of its last speech frame. */
  #lastDb = Number.NEGATIVE_INFINITY;
  /** Levels of its last frames, each at its number modulo the length. */
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
  toOpen(threshold: number, levelDb: number, frame: number): number {
    if (this.#levelDb === null) return threshold;
    const { forgetAfterFrames, forgetDbPerFrame } = this.#rules;
    const forgotten = Math.max(0, frame - this.#lastEnd - forgetAfterFrames) * forgetDbPerFrame;
    return needed(threshold, this.#levelDb - forgotten - levelDb, this.#rules.opening);
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

  /** Starts an utterance with a speech frame of this level. */
  begin(levelDb: number): void {
    this.#utteranceDb = levelDb;
    this.#topDb = levelDb;
    this.#lastDb = levelDb;
    this.#recent.fill(levelDb);
  }

  /** Takes the level of the utterance's next speech frame. */
  follow(levelDb: number): void {
    // Two consecutive frames must be this loud, because a bang is shorter. The level rises immediately, so it
    // hardly depends on the start of the utterance, which a session resumed in mid-word does not know.
    this.#utteranceDb = Math.max(this.#utteranceDb - FALL_DB, Math.min(levelDb, this.#lastDb));
    this.#lastDb = levelDb;
    this.#topDb = Math.max(this.#topDb, this.#utteranceDb);
  }

  /**
   * Ends the utterance.
   * @param isSpeaker true if it had letters, so it was not noise
   * @param endFrame exclusive
   */
  end(isSpeaker: boolean, endFrame: number): void {
    if (isSpeaker) {
      const lowest = this.#levelDb === null ? Number.NEGATIVE_INFINITY : this.#levelDb - MOST_FALL_DB;
      this.#levelDb = Math.max(this.#topDb, lowest);
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
