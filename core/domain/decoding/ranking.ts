/** Keeps the best offers in order of score, earlier ones first among equals, in columns of numbers. */
export class Ranking {
  count = 0;
  /** Entries from best to worst. */
  readonly order: Int32Array;
  readonly score: Float64Array;
  /** Beam index of the offer's prefix. */
  readonly beamIndex: Int32Array;
  /** Added token, or -1 for none. */
  readonly token: Int32Array;
  readonly blank: Float64Array;
  readonly acoustic: Float64Array;
  readonly state: Uint32Array;
  readonly wordHash: Uint32Array;
  readonly hotState: Int32Array;
  readonly textScore: Float64Array;

  constructor(capacity: number) {
    this.order = new Int32Array(capacity);
    this.score = new Float64Array(capacity);
    this.beamIndex = new Int32Array(capacity);
    this.token = new Int32Array(capacity);
    this.blank = new Float64Array(capacity);
    this.acoustic = new Float64Array(capacity);
    this.state = new Uint32Array(capacity);
    this.wordHash = new Uint32Array(capacity);
    this.hotState = new Int32Array(capacity);
    this.textScore = new Float64Array(capacity);
  }

  /** The score that an offer must exceed. */
  get worst(): number {
    const { count, order } = this;
    return count < order.length ? Number.NEGATIVE_INFINITY : this.score[order[count - 1]!]!;
  }

  /** Score of the best entry so far. */
  get best(): number {
    return this.count === 0 ? Number.NEGATIVE_INFINITY : this.score[this.order[0]!]!;
  }

  /** Number of entries within `margin` of the best score. */
  countWithin(margin: number): number {
    const { order, score } = this;
    const least = this.best - margin;
    let within = this.count;
    while (within > 1 && score[order[within - 1]!]! < least) within--;
    return within;
  }

  clear(): void {
    this.count = 0;
  }

  offer(
    score: number,
    beamIndex: number,
    token: number,
    blank: number,
    acoustic: number,
    state: number,
    wordHash: number,
    hotState: number,
    textScore: number,
  ): void {
    const { order } = this;
    if (score <= this.worst) return;
    // A full ranking overwrites its worst entry.
    const entry = this.count < order.length ? this.count : order[this.count - 1]!;
    let at = this.count < order.length ? this.count++ : this.count - 1;
    for (; at > 0 && this.score[order[at - 1]!]! < score; at--) order[at] = order[at - 1]!;
    order[at] = entry;
    this.score[entry] = score;
    this.beamIndex[entry] = beamIndex;
    this.token[entry] = token;
    this.blank[entry] = blank;
    this.acoustic[entry] = acoustic;
    this.state[entry] = state;
    this.wordHash[entry] = wordHash;
    this.hotState[entry] = hotState;
    this.textScore[entry] = textScore;
  }
}
