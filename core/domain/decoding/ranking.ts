/** The best so many offers, in order of score; among equals the earlier offer wins. Offers are columns of numbers. */
export class Ranking {
  count = 0;
  /** Entries from best to worst. */
  readonly order: Int32Array;
  readonly score: Float64Array;
  /** Beam index that the offer comes from. */
  readonly beamIndex: Int32Array;
  /** Token it adds, or -1 when it stays as it is. */
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

  /** An offer must score more than this to be taken. */
  get worst(): number {
    const { count, order } = this;
    return count < order.length ? Number.NEGATIVE_INFINITY : this.score[order[count - 1]!]!;
  }

  /** Score of the best entry so far. */
  get best(): number {
    return this.count === 0 ? Number.NEGATIVE_INFINITY : this.score[this.order[0]!]!;
  }

  /** How many entries score at most so much less than the best one. */
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
    // A full ranking writes over its worst entry.
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
