import type { Metric } from "prom-client";

/** What was counted elsewhere, of one value of the label. */
export interface SharedCounts {
  readonly graph: string;
  /** Of each bucket on its own, the last without a bound. */
  readonly counts: readonly number[];
  readonly sumMs: number;
  /** What is counted beside: rows of these runs. */
  readonly rows: number;
}

/**
 * A histogram of what other threads count in shared memory, read when the metrics are. prom-client's own is told of each value
 * by the main thread.
 */
export class SharedHistogram {
  readonly #options: { name: string; help: string; label: string; bounds: readonly number[] };
  readonly #readers: (() => readonly SharedCounts[])[] = [];

  constructor(options: {
    readonly name: string;
    readonly help: string;
    readonly label: string;
    readonly bounds: readonly number[];
  }) {
    this.#options = options;
  }

  add(read: () => readonly SharedCounts[]): void {
    this.#readers.push(read);
  }

  read(): readonly SharedCounts[] {
    return this.#readers.flatMap((read) => read());
  }

  /** As prom-client's registry asks for it: by `name` and `get`. */
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
