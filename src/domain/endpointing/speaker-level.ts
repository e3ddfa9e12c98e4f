/** How loud the last speaker was, as far as a session that goes on elsewhere must know it. */
export interface SpeakerState {
  /** See `levelDb`: of the loud frames. */
  readonly levelDb: number;
  /** Frames since that speaker's last utterance ended. */
  readonly silentFrames: number;
}

/** All levels are dB, all counts frames of 40 ms. */
export interface SpeakerRules {
  /** Below the speaker by more than this a voice must be heard the more surely, ... */
  readonly doubtDb: number;
  /** ... and by so much no voice is his. */
  readonly farDb: number;
  /** Frames among which the loudest counts: words have their vowels closer together. */
  readonly recentFrames: number;
  /** A single frame so far below an utterance's loud ones is no part of it. */
  readonly faintDb: number;
  /** After so long without an utterance, quieter voices are let in again, by so much a frame. */
  readonly forgetAfterFrames: number;
  readonly forgetDbPerFrame: number;
}

const SPEAKER_RULES: SpeakerRules = {
  doubtDb: 11,
  farDb: 18,
  recentFrames: 6,
  faintDb: 38,
  forgetAfterFrames: 250,
  forgetDbPerFrame: 0.08,
};

/** No probability reaches it. */
const NEVER = 2;
/** The loudness follows a louder frame by so much at most, so that a bang does not count as a voice, ... */
const RISE_DB = 3;
/** ... and sinks by so much from frame to frame: a speaker who becomes quiet is followed by 2.5 dB a second. */
const FALL_DB = 0.1;
/** From one utterance to the next the level sinks by so much at most: what talks far behind a speaker walks nobody down. */
const MOST_FALL_DB = 3;

/**
 * Follows how loud the near speaker of a session is. Voice activity knows a second and a half; a room in which others go on
 * talking after the speaker has finished needs a longer memory. Only utterances change it, and only their ends fix it, so
 * a session that is replayed from an end hears what it would have heard.
 */
export class SpeakerLevel {
  readonly #rules: SpeakerRules;
  /** Of the last utterances; null before the first. */
  #levelDb: number | null;
  /** Where the last of them ended; before frame 0 if that was in an earlier life of the session. */
  #lastEnd: number;
  /** Loud frames of the utterance that is open. */
  #utteranceDb = Number.NEGATIVE_INFINITY;
  /** Levels of its last frames, each at its number modulo the length. */
  readonly #recent: Float32Array;
  #recentAt = 0;

  constructor(speaker: SpeakerState | null = null, rules: SpeakerRules = SPEAKER_RULES) {
    this.#rules = rules;
    this.#recent = new Float32Array(rules.recentFrames);
    this.#levelDb = speaker?.levelDb ?? null;
    this.#lastEnd = -(speaker?.silentFrames ?? 0);
  }

  /** What a session begins with that goes on elsewhere from this frame; null before the first utterance has ended. */
  at(frame: number): SpeakerState | null {
    if (this.#levelDb === null) return null;
    return { levelDb: this.#levelDb, silentFrames: frame - this.#lastEnd };
  }

  /** Between utterances: the probability from which on a frame as loud as this is the near speaker's; above 1 it is not. */
  toOpen(threshold: number, levelDb: number, frame: number): number {
    if (this.#levelDb === null) return threshold;
    const { forgetAfterFrames, forgetDbPerFrame } = this.#rules;
    const forgotten = Math.max(0, frame - this.#lastEnd - forgetAfterFrames) * forgetDbPerFrame;
    return this.#needed(threshold, this.#levelDb - forgotten - levelDb);
  }

  /** The same inside an utterance, whose next frame it is. */
  toHold(threshold: number, levelDb: number): number {
    this.#recent[this.#recentAt++ % this.#recent.length] = levelDb;
    if (levelDb < this.#utteranceDb - this.#rules.faintDb) return NEVER;
    let loudest = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < this.#recent.length; i++) loudest = Math.max(loudest, this.#recent[i]!);
    return this.#needed(threshold, this.#utteranceDb - loudest);
  }

  #needed(threshold: number, belowDb: number): number {
    const { doubtDb, farDb } = this.#rules;
    if (belowDb <= doubtDb) return threshold;
    if (belowDb >= farDb) return NEVER;
    return threshold + ((1 - threshold) * (belowDb - doubtDb)) / (farDb - doubtDb);
  }

  /** An utterance begins with a frame of speech as loud as this. */
  begin(levelDb: number): void {
    this.#utteranceDb = levelDb;
    this.#recent.fill(levelDb);
  }

  /** The next frame of speech of an utterance. */
  follow(levelDb: number): void {
    const rise = levelDb - this.#utteranceDb;
    this.#utteranceDb += rise > 0 ? Math.min(rise, RISE_DB) : -FALL_DB;
  }

  /**
   * The utterance is over.
   * @param isSpeaker letters came out of it, so it was no noise
   * @param endFrame exclusive
   */
  end(isSpeaker: boolean, endFrame: number): void {
    if (isSpeaker) {
      const lowest = this.#levelDb === null ? Number.NEGATIVE_INFINITY : this.#levelDb - MOST_FALL_DB;
      this.#levelDb = Math.max(this.#utteranceDb, lowest);
      this.#lastEnd = endFrame;
    }
    this.#utteranceDb = Number.NEGATIVE_INFINITY;
  }
}
