/** A voice's manner of speaking, set by its package, in addition to what its model has learned. */
export interface VoiceManner {
  /** Tempo relative to the training's; multiplies the requested speed. */
  readonly pace: number;
  /** Relative length of pauses at punctuation; pause marks in a text are not scaled. */
  readonly breath: number;
  /** Pitch range relative to the training's, in log Hz around the voice's mean. */
  readonly melody: number;
  /** Cut-off frequency of the room tone. */
  readonly roomToneHz: number;
}

/** The default for packages without a manner. */
export const PLAIN_MANNER: VoiceManner = { pace: 1, breath: 1, melody: 1, roomToneHz: 1_000 };
