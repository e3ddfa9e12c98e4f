import { Counter, Gauge, Histogram, Registry } from "prom-client";

/** Creates metrics in one registry. */
export class MetricRegistry {
  readonly registry = new Registry();

  counter<Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  gauge<Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) {
    return new Gauge({ name, help, labelNames, registers: [this.registry] });
  }

  histogram<Label extends string = never>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: readonly Label[] = [],
  ) {
    return new Histogram({ name, help, buckets, labelNames, registers: [this.registry] });
  }

  /** Registers a gauge whose value is read at each scrape. */
  readGauge(name: string, help: string, value: () => number): void {
    new Gauge({
      ...{ name, help, registers: [this.registry] },
      collect() {
        this.set(value());
      },
    });
  }

  /** Registers a gauge whose values, by `label`, are read at each scrape. */
  readGauges(name: string, help: string, label: string, values: () => LabelledValues): void {
    new Gauge({
      ...{ name, help, labelNames: [label], registers: [this.registry] },
      collect() {
        for (const [key, value] of values()) this.set({ [label]: key }, value);
      },
    });
  }

  /** Registers a counter whose values, by `label`, are read at each scrape. */
  readCounters(name: string, help: string, label: string, values: () => LabelledValues): void {
    new Counter({
      ...{ name, help, labelNames: [label], registers: [this.registry] },
      collect() {
        this.reset();
        for (const [key, value] of values()) this.inc({ [label]: key }, value);
      },
    });
  }
}

type LabelledValues = Iterable<readonly [key: string, value: number]>;
