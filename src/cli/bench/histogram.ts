/** Buckets near zero are `1 / RESOLUTION` wide. Above 1 they are that share of the value, 0.5 %. */
const RESOLUTION = 200;

/**
 * Returns the bucket of a value. Bucket widths are constant near zero and proportional to the value above it.
 */
export function bucketOf(value: number): number {
  return Math.round(Math.asinh(value) * RESOLUTION);
}

export function middleOf(bucket: number): number {
  return Math.sinh(bucket / RESOLUTION);
}

/** Counts values in buckets of 0.5 %, for percentiles of any number of values in little memory. */
export class Histogram {
  readonly #counts = new Map<number, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  add(value: number, count = 1): void {
    const bucket = bucketOf(value);
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + count);
    this.#total += count;
  }

  addAll(values: Iterable<number>): this {
    for (const value of values) this.add(value);
    return this;
  }

  /** Returns the value below which `share` (0 to 1) of the values lie; 0 if there are none. */
  percentile(share: number): number {
    const wanted = Math.min(this.#total - 1, Math.floor(share * this.#total));
    let seen = 0;
    for (const [bucket, count] of this.#sorted()) {
      seen += count;
      if (seen > wanted) return middleOf(bucket);
    }
    return 0;
  }

  /** Returns pairs of value and count in rising order, merged into at most `most` pairs. */
  pairs(most: number): readonly (readonly [value: number, count: number])[] {
    const sorted = this.#sorted();
    const per = Math.ceil(sorted.length / most);
    const pairs: [number, number][] = [];
    for (let start = 0; start < sorted.length; start += per) {
      const part = sorted.slice(start, start + per);
      pairs.push([middleOf(part.at(-1)![0]), part.reduce((sum, [, count]) => sum + count, 0)]);
    }
    return pairs;
  }

  #sorted(): [bucket: number, count: number][] {
    return [...this.#counts].sort(([a], [b]) => a - b);
  }
}
