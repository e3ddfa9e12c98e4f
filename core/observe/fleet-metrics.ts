import type { MetricRegistry } from "./metric-registry.js";

/** Metrics of the bus and of engine processes, with the observers that count them. */
export function fleetMetrics(make: MetricRegistry) {
  return {
    busConnected: make.gauge("bus_connected", "1 while connected to the bus; 0 without a bus"),
    busMessagesDamaged: make.counter("bus_messages_damaged_total", "Damaged bus messages that were dropped"),
    lanes: laneObserver(make),
    calls: callObserver(make),

    /** Reads the state of the engine processes at each scrape. */
    readProcesses(
      read: () => { readonly capacity: number; readonly used: number; readonly oldestHeartbeatMs: number },
    ): void {
      make.readGauge("fleet_capacity", "Live sessions that engine processes accept", () => read().capacity);
      make.readGauge("fleet_used", "Live sessions on engine processes", () => read().used);
      const help = "Time since the last heartbeat of the engine process that has been silent longest";
      make.readGauge("fleet_beat_age_seconds", help, () => read().oldestHeartbeatMs / 1_000);
    },

    /** Reads the capacity of all engine processes, by kind, at each scrape. */
    readCallCapacity(read: () => Readonly<Record<string, number>>): void {
      const help = "Calls that engine processes accept at a time, by kind";
      make.readGauges("fleet_call_capacity", help, "kind", () => Object.entries(read()));
    },
  };
}

/** Observer of lanes to engine processes. */
function laneObserver(make: MetricRegistry) {
  const bytesInFlight = make.gauge("lane_bytes_in_flight", "Unacknowledged bytes sent to engine processes");
  const replays = make.counter(
    "lane_replays_total",
    "Lost lanes to engine processes; their sessions were replayed",
    ["reason"],
  );
  const replayedSessions = make.counter("lane_replayed_sessions_total", "Live sessions on lost lanes");
  const moves = make.counter("lane_moves_total", "Lanes that got another engine process, by reason", [
    "reason",
  ]);
  return {
    replayed: (reason: string, sessions: number) => {
      replays.inc({ reason });
      replayedSessions.inc(sessions);
    },
    moved: (reason: string) => moves.inc({ reason }),
    inFlight: (changeBytes: number) => bytesInFlight.inc(changeBytes),
  };
}

/** Observer of calls to engine processes. */
function callObserver(make: MetricRegistry) {
  const calls = make.gauge("fleet_calls", "Pieces of speech and tasks of files in engine processes", [
    "kind",
  ]);
  const lost = make.counter(
    "fleet_calls_lost_total",
    "Lost or refused calls to engine processes; they were repeated",
    ["kind", "reason"],
  );
  return {
    began: (kind: string) => calls.inc({ kind }),
    ended: (kind: string) => calls.dec({ kind }),
    lost: (kind: string, reason: string) => lost.inc({ kind, reason }),
  };
}
