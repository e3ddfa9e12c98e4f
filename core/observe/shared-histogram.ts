import type { Metric } from "prom-client";

/** Counts of one graph, from shared memory. */
export interface SharedCounts {
  readonly graph: string;
  /** Runs in each bucket, not cumulative; the last bucket has no bound. */
  readonly counts: readonly number[];
  readonly sumMs: number;
  /** Rows in these runs. */
  readonly rows: number;
}

interface HistogramOptions {
  readonly name: string;
  readonly help: string;
  readonly label: string;
  readonly bounds: readonly number[];
}

/**
 * A histogram that other threads count in shared memory, read at each scrape. prom-client's own needs every
 * value on the main thread.
 */
export class SharedHistogram {
  readonly #options: HistogramOptions;
  readonly #readers: (() => readonly SharedCounts[])[] = [];

  constructor(options: HistogramOptions) {
    this.#options = options;
  }

  add(read: () => readonly SharedCounts[]): void {
    this.#readers.push(read);
  }

  read(): readonly SharedCounts[] {
    return this.#readers.flatMap((read) => read());
  }

  /** The part of prom-client's `Metric` that its registry uses. */
  get metric(): Metric {
    const { name, help } = this.#options;
    const get = () =>
      Promise.resolve({ name, help, type: "histogram", aggregator: "sum", values: this.#values() });
    return { name, help, get, reset: () => {} } as unknown as Metric;
  }

  #values() {
    const { name, label, bounds } = this.#options;
    return this.read().flatMap(({ graph, counts, sumMs }) => {
      let total = 0;
      const buckets = counts.map((count, index) => {
        total += count;
        const le = bounds[index] ?? "+Inf";
        return { metricName: `${name}_bucket`, labels: { le, [label]: graph }, value: total };
      });
      return [
        ...buckets,
        { metricName: `${name}_sum`, labels: { [label]: graph }, value: sumMs },
        { metricName: `${name}_count`, labels: { [label]: graph }, value: total },
      ];
    });
  }
}
