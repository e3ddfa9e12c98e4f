/** How a voice speaks, beside what its model has learnt: set by its package, the same for every request. */
export interface VoiceManner {
  /** Its own tempo against that of its training: multiplies the speed that a request asks for. */
  readonly pace: number;
  /** Length of its pauses at marks against the usual; pauses that a text asks for stay as they are. */
  readonly breath: number;
  /** Range of its pitch against that of its training, in log Hz around its own mean. */
  readonly melody: number;
  /** Cut-off of its room tone. */
  readonly roomToneHz: number;
}

/** A voice whose package says nothing about it. */
export const PLAIN_MANNER: VoiceManner = { pace: 1, breath: 1, melody: 1, roomToneHz: 1_000 };
