import { monitorEventLoopDelay } from "node:perf_hooks";
import { Gauge, type Registry } from "prom-client";

/** Interval of the timer whose lateness is the delay. A finer one would wake an idle service more often. */
const TICK_MS = 10;
const NANOSECONDS = 1e6;
const QUANTILES = { "0.5": 50, "0.99": 99, "1": 100 } as const;

/**
 * Exposes the event loop delay of the calling thread since the last scrape. Node's histogram records the time
 * between two ticks, so the tick itself is subtracted.
 */
export function observeEventLoopDelay(registry: Registry): void {
  const ticks = monitorEventLoopDelay({ resolution: TICK_MS });
  ticks.enable();
  new Gauge({
    name: "event_loop_delay_ms",
    help: "Event loop delay of the main thread since the last scrape, by quantile",
    labelNames: ["quantile"] as const,
    registers: [registry],
    collect() {
      for (const [quantile, percent] of Object.entries(QUANTILES))
        this.set({ quantile }, Math.max(0, ticks.percentile(percent) / NANOSECONDS - TICK_MS));
      ticks.reset();
    },
  });
}
