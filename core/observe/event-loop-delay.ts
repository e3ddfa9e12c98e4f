import { monitorEventLoopDelay } from "node:perf_hooks";
import { Gauge, type Registry } from "prom-client";

/** How often the thread's own clock ticks; what a tick is late is the delay. Finer ticks would wake an idle service more often. */
const TICK_MS = 10;
const NANOSECONDS = 1e6;
const QUANTILES = { "0.5": 50, "0.99": 99, "1": 100 } as const;

/**
 * Shows by how much the thread that calls it was late, since it was last looked at. Node's histogram holds the time between two
 * ticks, so the tick itself is taken off.
 */
export function observeEventLoopDelay(registry: Registry): void {
  const ticks = monitorEventLoopDelay({ resolution: TICK_MS });
  ticks.enable();
  new Gauge({
    name: "event_loop_delay_ms",
    help: "How late the main thread comes to what is due, by quantile, since the metrics were last read",
    labelNames: ["quantile"] as const,
    registers: [registry],
    collect() {
      for (const [quantile, percent] of Object.entries(QUANTILES))
        this.set({ quantile }, Math.max(0, ticks.percentile(percent) / NANOSECONDS - TICK_MS));
      ticks.reset();
    },
  });
}
